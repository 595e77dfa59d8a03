import type { AuthorizeOptions } from '../auth/access-review.ts'
import type { Authenticator, Caller } from '../auth/authenticator.ts'
import type { AuthenticateSender } from '../auth/event-sender.ts'
import type { Deps } from '../core/deps.ts'
import type { Access } from '../core/failure.ts'
import type { HttpAnswer, HttpRequest } from '../core/http.ts'
import type { Result } from '../core/result.ts'
import type { SweepOptions } from '../credentials/sweep.ts'
import type { SyncServices } from '../credentials/sync.ts'
import type { DefinitionLookup } from '../definitions/lookup.ts'
import type { Kube } from '../k8s/kube.ts'
import type { Legs } from '../trust-anchor/services.ts'

/** What the routes work with. Built once by an entry. */
export interface Services {
  /** The API group served, for example `core.cozystack.io`. */
  readonly group: string
  /** How long a mint or revoke may take in all, in milliseconds. */
  readonly deadlineMs: number
  /** When its write must have begun, so that the write and the read after it fit into the deadline. */
  readonly writeByMs: number
  readonly version: string
  readonly deps: Deps
  readonly kube: Kube
  readonly definitions: DefinitionLookup
  /** Fails with `unauthenticated` when nobody knows the caller. */
  readonly authenticate: (presented: Parameters<Authenticator['authenticate']>[0]) => Promise<Result<Caller>>
  /** Fails with `forbidden` unless an access review says yes. */
  readonly authorize: (
    caller: Caller,
    access: Access,
    options?: AuthorizeOptions,
  ) => Promise<Result<undefined>>
  /** From the first look at an undeclared account to the second, in milliseconds. */
  readonly graceMs: number
  /** The username of this function itself, as records name it. */
  readonly self: () => Promise<Result<string>>
  /** Brings all releases in step. */
  readonly sweep: (services: SyncServices, options: SweepOptions) => Promise<Result<unknown>>
  /** Ways to declare that a CA be published; undefined when none is. */
  readonly anchors: Legs | undefined
  /** Undefined when nobody may send events or ticks. */
  readonly eventSender: AuthenticateSender | undefined
  /** Of Flux's notification-controller; none when it may not call. */
  readonly fluxKeys: readonly string[]
  /** What the runtime still waits for; undefined when it is ready. */
  readonly waitsFor: () => string | undefined
}

export const API_VERSION = 'v1alpha1'

/** A request at the route that was found for it. */
export interface Exchange {
  readonly request: HttpRequest
  /** What stands in the path for a variable of the route; '' for one that it does not have. */
  readonly param: (name: string) => string
  /** For metrics: the kind of application, from what the cluster holds, and never a text that a caller wrote. */
  readonly setKind: (kind: string) => void
}

/** May throw, which is a mistake of ours: the router answers for it. */
export type Handler = (exchange: Exchange) => HttpAnswer | Promise<HttpAnswer>
