import { expression } from './expression.ts'
import type { SourceKind } from './source.ts'
import { staticAccount } from './static.ts'
import { valuesList } from './values-list.ts'
import { valuesMap } from './values-map.ts'
import { webhookSource } from './webhook.ts'

/** Every kind of account source. A new one is a file and a line here. */
export const sourceKinds: ReadonlyMap<string, SourceKind> = new Map(
  [valuesMap, valuesList, staticAccount, expression, webhookSource].map((source) => [source.kind, source]),
)
