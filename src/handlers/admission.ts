import type { HttpAnswer } from '../core/http.ts'
import { timeLimit } from '../core/time-limit.ts'
import { adoptOf, validate } from '../credentials/admit.ts'
import { mutate } from '../credentials/admit-mutate.ts'
import type { Review, Verdict } from '../credentials/verdict.ts'
import { ALLOWED } from '../credentials/verdict.ts'
import { answerReview, statusOfRefusal } from './admission-answer.ts'
import { parseReview } from './admission-review.ts'
import { statusOf } from './answer.ts'
import { readBody } from './body.ts'
import type { Exchange, Services } from './services.ts'

/** Two objects of at most 1.5 MiB, as etcd takes them, with every character of their JSON escaped once more. */
const MAX_REVIEW_BYTES = 8 * 1024 * 1024
/** Below the `timeoutSeconds` of the webhooks in `deploy/apiserver/webhooks.yaml`, so that the answer says why. */
const DEADLINE_MS = 8000
/** Adoption after the answer. */
const AFTERWARDS_MS = 20_000
/** The API server stores what it has asked about when it has the answer: reads in between would hold that up, and see the old. */
const UNTIL_STORED_MS = 50

interface Judge {
  readonly judge: typeof validate
  readonly isNamed: boolean
}

/** `POST /admission/validate`. */
export const validateRoute = (services: Services) => reviewRoute(services, { judge: validate, isNamed: true })

/** `POST /admission/mutate`. */
export const mutateRoute = (services: Services) => reviewRoute(services, { judge: mutate, isNamed: false })

const reviewRoute =
  (services: Services, { judge, isNamed }: Judge) =>
  async (exchange: Exchange): Promise<HttpAnswer> => {
    const limit = timeLimit(DEADLINE_MS, exchange.request.signal)
    try {
      return await respond(services, { judge, isNamed }, exchange, limit.signal)
    } finally {
      limit.end()
    }
  }

async function respond(
  services: Services,
  { judge, isNamed }: Judge,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const startedAt = services.deps.now()
  const body = await readBody(exchange.request, signal, MAX_REVIEW_BYTES)
  if (!body.ok) return statusOf(body.failure, services.group)
  const asked = parseReview(body.value, { isNamed })
  if (!asked.ok) return statusOf(asked.failure, services.group)
  const { uid, review } = asked.value
  if (review === undefined) return answerReview(uid, ALLOWED, services.group)
  const verdict = await judge(services, review, { signal })
  logVerdict(services, review, verdict, services.deps.now() - startedAt)
  if (verdict.is === 'allowed' && verdict.adopts)
    exchange.request.afterResponse(() => adopt(services, review))
  return answerReview(uid, verdict, services.group)
}

/** Refusals, for whoever is asked about them; the rest goes by in the thousands. */
function logVerdict({ deps, group }: Services, review: Review, verdict: Verdict, durationMs: number): void {
  const { operation, namespace, name, dryRun, by } = review
  const status = verdict.is === 'refused' ? statusOfRefusal(verdict.refusal, group) : undefined
  const level = status === undefined ? 'debug' : status.code < 500 ? 'info' : 'error'
  deps.log(level, 'admission', {
    operation,
    namespace,
    release: name,
    by,
    dryRun,
    code: status?.code ?? 200,
    failure:
      verdict.is === 'refused' && verdict.refusal.is === 'failed' ? verdict.refusal.failure : undefined,
    durationMs: Math.round(durationMs),
  })
}

async function adopt(services: Services, review: Review): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, UNTIL_STORED_MS))
  const { signal, end } = timeLimit(AFTERWARDS_MS)
  const adopted = await adoptOf(services, review, { signal }).finally(end)
  if (adopted.ok) return
  const { namespace, name: release } = review
  services.deps.log('warn', 'adoption_failed', { namespace, release, failure: adopted.failure })
}
