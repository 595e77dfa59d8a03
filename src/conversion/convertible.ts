import type { Deps } from '../core/deps.ts'
import type { Application } from '../credentials/application.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import type { Kube, WriteOptions } from '../k8s/kube.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import type { Skip } from './causes.ts'
import type { Note } from './notes.ts'

export interface ConvertServices {
  readonly kube: Pick<Kube, 'getSecret' | 'createSecret' | 'updateSecret'>
  readonly deps: Pick<Deps, 'now' | 'randomBytes'>
}

/** A release of a kind that is being converted. */
export interface Convertible {
  readonly release: HelmRelease
  readonly application: Application
  readonly rules: CredentialRules
  readonly needsWebhook: boolean
}

export interface ConvertedAccount {
  readonly username: string
  readonly secret: string
  readonly result: /** It has the value of the password from before. */
    | 'converted'
    /** So it has now, and had one that nobody knew. */
    | 'replaced'
    /** It was ours before. */
    | 'unchanged'
}

/** What became of the accounts of a release. */
export interface Converted {
  readonly accounts: readonly ConvertedAccount[]
  readonly skips: readonly Skip[]
  readonly notes: readonly Note[]
}

export interface ConvertOptions extends WriteOptions {
  /** Whom records name. */
  readonly by: string
}
