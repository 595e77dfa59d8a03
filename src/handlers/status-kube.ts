import type { KubeFailure } from '../core/failure.ts'
import { conflict, internal, type Row, type StatusAnswer, unavailable } from './status-answer.ts'

/** The API server's own failures, as they read before anything was written. */
export const kubeRows: { readonly [R in KubeFailure['reason']]: Row<R> } = {
  kube_conflict: () => internal('the Kubernetes API answered a conflict to a read'),
  kube_exists: () => internal('the Kubernetes API answered AlreadyExists to a read'),
  kube_absent: () => internal('the Kubernetes API did not find what was to be written'),
  kube_forbidden: ({ call }) =>
    internal(
      `the Kubernetes API does not let this function ${call}: check its ClusterRole and admission policies`,
    ),
  kube_quota_exceeded: ({ quota }) => internal(`resource quota ${quota} is exceeded`),
  kube_namespace_terminating: ({ namespace }) => internal(`namespace ${namespace} is being terminated`),
  kube_immutable: () => internal('the object is immutable'),
  kube_invalid: ({ call }) =>
    call.startsWith('list ')
      ? {
          code: 400,
          reason: 'BadRequest',
          message: `the Kubernetes API refused to ${call}: check the selectors and the limit, or list again without continue`,
        }
      : internal(`the Kubernetes API refused to ${call}: what this function sent was not valid`),
  kube_expired: () => ({
    code: 410,
    reason: 'Expired',
    message: 'the continue parameter is too old: start the list again without it',
  }),
  kube_overloaded: ({ retryAfterSeconds = 1 }) => ({
    code: 429,
    reason: 'TooManyRequests',
    message: 'the Kubernetes API is overloaded: try again later',
    details: { retryAfterSeconds },
    headers: { 'Retry-After': String(retryAfterSeconds) },
  }),
  kube_unauthenticated: () =>
    internal('the Kubernetes API refused the credentials of this function: check its ServiceAccount token'),
  kube_not_served: ({ groupVersion }) =>
    internal(`the Kubernetes API does not serve ${groupVersion}: it is not installed in this cluster`),
  kube_error: ({ call, code }) =>
    code === 502 || code === 503
      ? unavailable(`the Kubernetes API is not available (code ${code}): could not ${call}`)
      : internal(
          `the Kubernetes API ${code < 400 ? 'answered what was not asked for' : `failed (code ${code})`}: could not ${call}`,
        ),
  kube_unreachable: ({ call, why }) =>
    unavailable(`the Kubernetes API cannot be reached (${why}): could not ${call}`),
  kube_timeout: ({ call }) => ({
    code: 504,
    reason: 'Timeout',
    message: `the Kubernetes API did not answer in time: could not ${call}`,
  }),
}

/** A refused write stored nothing. Never with `Retry-After`: clients follow it by themselves, and that is a mint. */
export function refusedWrite(cause: KubeFailure, name: string, group: string): StatusAnswer {
  switch (cause.reason) {
    case 'kube_conflict':
    case 'kube_exists':
      return conflict(`credential ${name} changed: read it again`, name, group)
    case 'kube_absent':
      return conflict(`credential ${name} no longer exists, or its namespace does not`, name, group)
    case 'kube_quota_exceeded':
      return conflict(`resource quota "${cause.quota}" has no room for another Secret`, name, group)
    case 'kube_namespace_terminating':
      return conflict(`namespace "${cause.namespace}" is being terminated`, name, group)
    case 'kube_immutable':
      return conflict(`the Secret of credential ${name} has become immutable: delete it to mint`, name, group)
    case 'kube_overloaded':
      return {
        code: 429,
        reason: 'TooManyRequests',
        message: 'the Kubernetes API is overloaded: nothing was stored, mint again later',
      }
    case 'kube_invalid':
      return internal(
        `the Kubernetes API or a policy of the cluster refused to ${cause.call}; nothing was stored`,
      )
    case 'kube_expired':
      return internal('the Kubernetes API refused the write (code 410); nothing was stored')
    default: {
      const row = kubeRows[cause.reason] as Row<KubeFailure['reason']>
      return row(cause, group)
    }
  }
}

/** Why a sync, which is idempotent, did not get to its end. */
export const refusedSync = (cause: KubeFailure): string =>
  refusedStep(cause, {
    immutable: 'one of its account Secrets is immutable',
    overtaken: 'its account Secrets were changed at the same time: sync again',
  })

/** Why a CA was not published, which is idempotent too. */
export const refusedAnchor = (cause: KubeFailure): string =>
  refusedStep(cause, {
    immutable: 'the Secret that it is published in is immutable',
    overtaken: 'it, or what it is published in, was changed at the same time: sync again',
  })

function refusedStep(
  cause: KubeFailure,
  words: { readonly immutable: string; readonly overtaken: string },
): string {
  switch (cause.reason) {
    case 'kube_quota_exceeded':
      return `resource quota "${cause.quota}" has no room for another Secret`
    case 'kube_namespace_terminating':
      return `namespace "${cause.namespace}" is being terminated`
    case 'kube_immutable':
      return words.immutable
    default:
      return words.overtaken
  }
}
