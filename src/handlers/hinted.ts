import type { Failure } from '../core/failure.ts'
import type { HttpAnswer } from '../core/http.ts'
import { HEADERS, json, statusOf } from './answer.ts'
import type { Exchange, Services } from './services.ts'

/** What became of what was hinted at. */
export interface Hinted {
  /** Somebody else's work goes on, which covers it. */
  readonly goesOn: boolean
  readonly failures: readonly Failure[]
}

/** What another try would end in as well, until a person or a sweep has dealt with it. */
const SETTLED: ReadonlySet<Failure['reason']> = new Set<Failure['reason']>([
  'kube_conflict',
  'kube_exists',
  'kube_absent',
  'kube_quota_exceeded',
  'kube_namespace_terminating',
  'kube_immutable',
  'definition_wrong',
  'definitions_ambiguous',
  'value_not_canonical',
])

/** The API server is away or overloaded. */
const AWAY: ReadonlySet<Failure['reason']> = new Set<Failure['reason']>([
  'kube_overloaded',
  'kube_unreachable',
  'kube_timeout',
  'kube_error',
  'kube_expired',
])

/**
 * Waits for the work as long as a request may take, and no longer: it goes on after the answer. On Knative a process
 * without a request in flight is taken away, so that the answer comes late rather than early.
 */
export async function answerWhenDone(
  services: Services,
  exchange: Exchange,
  work: Promise<Hinted>,
): Promise<HttpAnswer> {
  exchange.request.afterResponse(() => work)
  const done = await Promise.race([work, after(services.deadlineMs)])
  return done === undefined ? nothing(202) : answerOf(services, done)
}

/** Sources send an event again for a 404, 409, 429 or 5xx, and brokers take the body of a 200 for an event. */
function answerOf(services: Services, { goesOn, failures }: Hinted): HttpAnswer {
  const failed = failures.filter(({ reason }) => !SETTLED.has(reason))
  const away = failed.find(({ reason }) => AWAY.has(reason))
  if (away !== undefined) return hintRefused(services, away)
  const [failure] = failed
  if (failure !== undefined) return hintRefused(services, failure)
  return nothing(goesOn ? 202 : 204)
}

/** A failure as other routes answer it; but whatever says that the API server is away is a 503. */
export function hintRefused({ group }: Pick<Services, 'group'>, failure: Failure): HttpAnswer {
  if (!AWAY.has(failure.reason)) return statusOf(failure, group)
  const message = 'the Kubernetes API is away or overloaded: send this again later'
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' }
  return json({ ...status, message, reason: 'ServiceUnavailable', code: 503 }, 503)
}

const nothing = (status: 202 | 204): HttpAnswer => ({ status, headers: HEADERS, body: '' })

const after = (milliseconds: number): Promise<undefined> =>
  new Promise((resolve) => {
    AbortSignal.timeout(milliseconds).addEventListener('abort', () => resolve(undefined), { once: true })
  })
