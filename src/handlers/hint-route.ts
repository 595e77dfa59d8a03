import type { Failure } from '../core/failure.ts'
import type { HttpAnswer } from '../core/http.ts'
import type { Result } from '../core/result.ts'
import { timeLimit } from '../core/time-limit.ts'
import type { Hint } from './hint.ts'
import { answerWhenDone, type Hinted, hintRefused } from './hinted.ts'
import { levelOf } from './identity.ts'
import type { Exchange, Services } from './services.ts'
import type { SyncHinted } from './sync-hinted.ts'

type Via = 'events' | 'tick' | 'flux'
type Read = (exchange: Exchange, signal: AbortSignal) => Promise<Result<readonly Hint[]>>

/** A route that is told what to look at: reads the hints of whoever may give some, follows them, and logs one line. */
export const hintRoute =
  (services: Services, via: Via, syncHinted: SyncHinted, read: Read) =>
  async (exchange: Exchange): Promise<HttpAnswer> => {
    const { now, log } = services.deps
    const startedAt = now()
    const { signal, end } = timeLimit(services.deadlineMs, exchange.request.signal)
    const hints = await read(exchange, signal).finally(end)
    const failures: Failure[] = []
    const answer = hints.ok
      ? await answerWhenDone(services, exchange, noting(syncHinted(exchange, hints.value), failures))
      : hintRefused(services, hints.failure)
    log(levelOf(answer.status, hints.ok ? undefined : hints.failure), 'hinted', {
      via,
      ...(hints.ok ? { hints: hints.value.length } : { failure: hints.failure }),
      ...(failures.length === 0 ? {} : { failures: [...new Set(failures.map(({ reason }) => reason))] }),
      code: answer.status,
      durationMs: Math.round(now() - startedAt),
    })
    return answer
  }

async function noting(work: Promise<Hinted>, failures: Failure[]): Promise<Hinted> {
  const done = await work
  failures.push(...done.failures)
  return done
}
