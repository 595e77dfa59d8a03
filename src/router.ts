import { TrieRouter } from 'hono/router/trie-router'
import type { HttpAnswer, HttpRequest } from './core/http.ts'
import { secondsBetween, type Verb } from './core/metrics.ts'
import { crashed, statusOf } from './handlers/answer.ts'
import type { Handler, Services } from './handlers/services.ts'
import { checkTarget } from './handlers/target.ts'

/**
 * Never rejects: whatever happens has an answer. A HEAD is answered as the GET that it asks about, body and all: whoever
 * sends the answer leaves that out.
 */
export type App = (request: HttpRequest) => Promise<HttpAnswer>

export interface Route {
  /** A HEAD is a GET. ALL: any that no route before this one has. */
  readonly method: 'GET' | 'POST' | 'ALL'
  /** As hono writes one, with `:name` for a segment. */
  readonly path: string
  /** What it is counted as. Left out: as something else; a probe is not counted. */
  readonly verb?: Verb | 'health'
  readonly handler: Handler
}

/**
 * Answers by the first route that fits. It refuses targets that could be read in two ways before anything is matched, and answers for
 * what no route has. Every request is counted and timed but those of probes, by its route and the kind that a handler has found. What
 * a handler throws is logged by its name and place, and is `500`.
 */
export function createRouter(
  routes: readonly Route[],
  { group, deps: { now, log, metrics } }: Pick<Services, 'group'> & RouterDeps,
): App {
  const router = new TrieRouter<Route>()
  for (const route of routes) router.add(route.method, route.path, route)

  async function answerTo(request: HttpRequest, noted: Noted): Promise<HttpAnswer> {
    const target = checkTarget(request.path)
    if (!target.ok) return statusOf(target.failure, group)
    const [[[route, params] = []]] = router.match(
      request.method === 'HEAD' ? 'GET' : request.method,
      request.path,
    )
    if (route === undefined) return statusOf({ reason: 'route_unknown' }, group)
    noted.verb = route.verb ?? 'other'
    return route.handler({
      request,
      param: (name) => String(params?.[name] ?? ''),
      setKind: (kind) => {
        noted.kind = kind
      },
    })
  }

  const crash = (thrown: unknown): HttpAnswer => {
    const isError = thrown instanceof Error
    log(
      'error',
      'crashed',
      isError ? { error: thrown.name, at: framesOf(thrown) } : { error: 'thrown value' },
    )
    return crashed()
  }

  return async (request) => {
    const startedAt = now()
    const noted: Noted = { verb: 'other', kind: '' }
    const answer = await answerTo(request, noted).catch(crash)
    const { verb, kind } = noted
    if (verb !== 'health')
      metrics.request({ verb, code: answer.status, kind }, secondsBetween(startedAt, now()))
    return answer
  }
}

interface RouterDeps {
  readonly deps: Pick<Services['deps'], 'now' | 'log' | 'metrics'>
}

/** What is learnt of a request on its way, for metrics. */
interface Noted {
  verb: Verb | 'health'
  kind: string
}

/** Where it happened and not what: messages may quote what was parsed. */
const framesOf = (error: Error): readonly string[] =>
  (error.stack ?? '')
    .split('\n')
    .filter((line) => line.startsWith('    at '))
    .slice(0, 8)
