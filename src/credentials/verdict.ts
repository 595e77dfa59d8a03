import type { Cause, Failure } from '../core/failure.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import type { Application } from './application.ts'

/** What the API server asks about a HelmRelease, before it stores or deletes it. A hint: anybody may have written it. */
export interface Review {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE'
  readonly namespace: string
  /** Empty while it is still to be generated. */
  readonly name: string
  /** As it would be stored; undefined on a delete. Its `uid` is empty as long as it has none. */
  readonly object: HelmRelease | undefined
  /** As it is stored; undefined on a create. */
  readonly oldObject: HelmRelease | undefined
  readonly dryRun: boolean
  /** The username of whoever asks. */
  readonly by: string
}

/** One operation of RFC 6902 on the object of a review. */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/** Why a write is refused. */
export type Refusal =
  /** What was written is wrong: each cause names the field of the application. */
  | { readonly is: 'invalid'; readonly application: Application; readonly causes: readonly Cause[] }
  /** Something else is in the way; the texts say what, and how to go on. */
  | { readonly is: 'forbidden'; readonly messages: readonly string[] }
  /** Somebody else has written at the same time; the text says so. Another try helps. */
  | { readonly is: 'raced'; readonly message: string }
  /** What was to be done first could not be done. */
  | { readonly is: 'failed'; readonly what: string; readonly failure: Failure }

export type Verdict =
  | {
      readonly is: 'allowed'
      readonly warnings: readonly string[]
      readonly patch: readonly PatchOperation[]
      /** The account Secrets of the stored release are to be adopted, after the answer. */
      readonly adopts: boolean
    }
  | { readonly is: 'refused'; readonly refusal: Refusal; readonly warnings: readonly string[] }

/** Nothing to be said, and nothing done. */
export const ALLOWED: Verdict = { is: 'allowed', warnings: [], patch: [], adopts: false }

export const allowed = (more: Partial<Extract<Verdict, { is: 'allowed' }>>): Verdict => ({
  ...ALLOWED,
  ...more,
  is: 'allowed',
})

export const refused = (refusal: Refusal, warnings: readonly string[] = []): Verdict => ({
  is: 'refused',
  refusal,
  warnings,
})
