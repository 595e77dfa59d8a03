import type { Json } from '../../core/json.ts'
import type { BoundSource } from '../rules.ts'
import type { WebhookContext } from '../webhook.ts'

/** Settings of one entry of `spec.credentials.accounts`, read field by field; a mistake names its field. */
type SourceParser = (entry: Json, field: string, context: WebhookContext) => ParsedSource

export type ParsedSource =
  | { readonly ok: true; readonly source: BoundSource }
  | { readonly ok: false; readonly field: string; readonly problem: string }

/** One kind of account source. Adding one is a file and a line in the table. */
export interface SourceKind {
  readonly kind: string
  /** The fields that an entry may have, beside `kind`. */
  readonly fields: readonly string[]
  readonly parse: SourceParser
}
