import type { SourceKind } from './source.ts'
import { staticAccount } from './static.ts'
import { valuesMap } from './values-map.ts'

/** Every kind of account source. A new one is a file and a line here. */
export const sourceKinds: ReadonlyMap<string, SourceKind> = new Map(
  [valuesMap, staticAccount].map((source) => [source.kind, source]),
)
