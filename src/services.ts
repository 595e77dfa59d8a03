import { createAuthorize } from './auth/access-review.ts'
import { authorizationHeader, createAuthenticate } from './auth/authenticate.ts'
import type { Authenticator } from './auth/authenticator.ts'
import { createEventSender } from './auth/event-sender.ts'
import { createJwtAuthenticator } from './auth/jwt.ts'
import { createTokenReviewAuthenticator } from './auth/token-review.ts'
import type { Config } from './config.ts'
import type { Deps } from './core/deps.ts'
import type { Get } from './core/http.ts'
import { ok } from './core/result.ts'
import { sweep } from './credentials/sweep.ts'
import { createDefinitionLookup } from './definitions/lookup.ts'
import { createWebhooks, type WebhookFetch } from './definitions/webhook-client.ts'
import type { Services } from './handlers/services.ts'
import { createKube } from './k8s/adapter.ts'
import type { Kube } from './k8s/kube.ts'
import type { Send } from './k8s/send.ts'
import { VERSION } from './version.ts'

/** What differs from one runtime to the next. */
export interface Runtime {
  readonly deps: Deps
  /** To the Kubernetes API. */
  readonly kube: Send
  /** To issuers of tokens: a way that trusts this CA (PEM), or the runtime's own when there is none. */
  readonly getFor: (certificateAuthority: string | undefined) => Get
  /** To webhooks that definitions name. Undefined: this runtime cannot check who answers, and calls none. */
  readonly webhookFetch?: WebhookFetch
  readonly instance: string
  /** Ways to know a caller that only this runtime has; asked before all others. */
  readonly authenticators?: readonly Authenticator[]
  /** What this runtime still waits for before it can serve everybody; undefined when for nothing. */
  readonly waitsFor?: () => string | undefined
}

type Settings = Pick<
  Config,
  | 'group'
  | 'audiences'
  | 'issuers'
  | 'clockToleranceSeconds'
  | 'deadlineMs'
  | 'kubeTimeoutMs'
  | 'definitionsMaxAgeMs'
  | 'graceMs'
  | 'eventSenders'
  | 'fluxKeys'
  | 'webhookHosts'
  | 'anchors'
>

/** Puts the parts together. Calls nothing yet. */
export function createServices(
  settings: Settings,
  {
    deps,
    kube: send,
    getFor,
    webhookFetch,
    instance,
    authenticators = [],
    waitsFor = () => undefined,
  }: Runtime,
): Services {
  const { now, log, metrics } = deps
  const { audiences, issuers, clockToleranceSeconds } = settings
  const timeoutMs = settings.kubeTimeoutMs
  const kube = createKube({ send, timeoutMs, reportingInstance: instance, now, metrics })
  return {
    group: settings.group,
    deadlineMs: settings.deadlineMs,
    writeByMs: settings.deadlineMs - 2 * settings.kubeTimeoutMs,
    version: VERSION,
    deps,
    kube,
    definitions: createDefinitionLookup({
      kube,
      now,
      maxAgeMs: settings.definitionsMaxAgeMs,
      timeoutMs: settings.kubeTimeoutMs,
      webhooks: createWebhooks({
        hosts: settings.webhookHosts,
        connect: webhookFetch,
        randomBytes: deps.randomBytes,
      }),
    }),
    // In this order; a new way to know a caller is a file and a line here.
    authenticate: createAuthenticate([
      ...authenticators,
      authorizationHeader,
      createJwtAuthenticator({ issuers, getFor, now, log, clockToleranceSeconds }),
      createTokenReviewAuthenticator({ kube, audiences, log }),
    ]),
    authorize: createAuthorize({ kube }),
    graceMs: settings.graceMs,
    self: createSelf(kube),
    sweep,
    anchors: settings.anchors,
    eventSender: createEventSender(settings.eventSenders, { kube, log }),
    fluxKeys: settings.fluxKeys,
    waitsFor,
  }
}

/** Asked for once: it never changes while the process lives. A failure is not kept. */
function createSelf({ whoAmI }: Pick<Kube, 'whoAmI'>): Services['self'] {
  let known: string | undefined
  return async () => {
    if (known !== undefined) return ok(known)
    const asked = await whoAmI()
    if (asked.ok) known = asked.value
    return asked
  }
}
