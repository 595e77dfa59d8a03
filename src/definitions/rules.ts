import type { Cause, Failure } from '../core/failure.ts'
import type { Json } from '../core/json.ts'
import { cutBytes } from '../core/text.ts'
import type { NamedFormat } from '../formats/format.ts'

export type Owner = 'tenant' | 'platform'

/** One account that a source declares, before names are compared. */
export interface Declared {
  readonly username: string
  readonly owner: Owner
}

const MAX_USERNAME_BYTES = 63

/** What makes a username unusable whatever the engine; undefined when nothing does. */
export function usernameProblem(username: string): string | undefined {
  if (username === '') return 'is empty'
  if (!username.isWellFormed()) return 'is no well-formed Unicode'
  if (/\p{Cc}/u.test(username)) return 'holds a control character'
  return cutBytes(username, MAX_USERNAME_BYTES) !== username
    ? `is longer than ${MAX_USERNAME_BYTES} bytes`
    : undefined
}

/** An entry that is wrong by itself. It may be so wrong that it names nobody. */
interface Malformed {
  readonly username?: string
  readonly cause: Cause
}

/** What one source found: accounts, and entries that are wrong by themselves (their siblings stand). */
export interface SourceAnswer {
  readonly accounts: readonly Declared[]
  readonly malformed: readonly Malformed[]
}

/** What a source may look at. */
interface SourceInput {
  /** The HelmRelease's `spec.values`. */
  readonly values: Json
  /** The parsed `openAPISchema` of the definition, or undefined when it has none that parses. */
  readonly schema: Json | undefined
}

export interface ResolveInput extends SourceInput {
  /** Of the HelmRelease. */
  readonly metadata: {
    readonly namespace: string
    readonly name: string
    readonly labels: Readonly<Record<string, string>>
  }
}

/** Where somebody has written an account into the values of a release. */
export interface Entry {
  readonly username: string
  /** The dotted path of the map or list that holds it. */
  readonly within: string
  /** Its key in the map, or its index in the list. */
  readonly key: string | number
  /** It holds a password in the clear, which the schema does not ask for. */
  readonly hasPassword: boolean
}

/** A source with its settings: parsed once, asked for every release. */
export interface BoundSource {
  readonly kind: string
  /** The entries that stand in the values, malformed ones too. A source that reads none has no such method. */
  readonly entries?: (input: SourceInput) => readonly Entry[]
  /** What is wrong with its settings that could not be seen when they were parsed; `resolve` fails by it too. */
  readonly check?: () => Promise<{ readonly field: string; readonly problem: string } | undefined>
  /**
   * Fails as a whole (a cause with the path) when the release's values have another shape than the source reads. With a
   * `failure` when it is not the release that is wrong: that is then what a caller is answered.
   */
  readonly resolve: (
    input: ResolveInput,
  ) => Promise<{ ok: true; value: SourceAnswer } | { ok: false; cause: Cause; failure?: Failure }>
}

/** A key of a Secret in the namespace of the release. */
export interface Legacy {
  readonly secretName: (release: string) => string
  readonly key: (username: string) => string
}

/** `spec.credentials` of an ApplicationDefinition, checked. */
export interface CredentialRules {
  /** Name of the definition, for messages. */
  readonly definition: string
  /** Of the application's resource: `postgreses`. Undefined when the definition does not say it. */
  readonly plural: string | undefined
  readonly format: NamedFormat
  readonly secretLabels: Readonly<Record<string, string>>
  readonly valuesPath: string | undefined
  /** Where a chart from before keeps the password of an account in the clear. */
  readonly legacy: Legacy
  readonly sources: readonly BoundSource[]
  readonly schema: Json | undefined
  /** Another one whenever the same release might declare other accounts. Undefined: nobody knows. */
  readonly declaredBy?: string
}
