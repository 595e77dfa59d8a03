import { HonoBase } from 'hono/hono-base'
import { TrieRouter } from 'hono/router/trie-router'
import type { RequestContext } from './core/deps.ts'
import { crashed, statusOf } from './handlers/answer.ts'
import { measure } from './handlers/measure.ts'
import type { AppEnv, Services } from './handlers/services.ts'
import { checkTarget } from './handlers/target.ts'

/** Never rejects: whatever happens has an answer. */
export type App = (request: Request, context: RequestContext) => Promise<Response>

/**
 * A router without routes: it measures, refuses targets that could be read in two ways before anything is matched, and
 * answers for what no route has. What a handler throws is logged by its name and place, and is `500`.
 */
export function createRouter({ group, deps }: Pick<Services, 'group' | 'deps'>) {
  // Hono's default tries a faster router first, which these routes are too much for: a start would pay for both.
  const hono = new HonoBase<AppEnv>({ router: new TrieRouter() })
  hono.use(measure(deps))
  hono.use(async (c, next) => {
    const target = checkTarget(c.env.rawTarget ?? targetOf(c.req.url))
    return target.ok ? next() : statusOf(target.failure, group)
  })
  hono.notFound(() => statusOf({ reason: 'route_unknown' }, group))
  hono.onError((error) => {
    deps.log('error', 'crashed', { error: error.name, at: framesOf(error) })
    return crashed()
  })
  const app: App = async (request, context) => {
    try {
      return await hono.fetch(request, context)
    } catch {
      // Hono rethrows what is no Error.
      deps.log('error', 'crashed', { error: 'thrown value' })
      return crashed()
    }
  }
  return { hono, app }
}

/** Where the runtime shows no request line: it has normalised dots and backslashes, the rest is as it came. */
const targetOf = (url: string): string => url.slice(new URL(url).origin.length)

/** Where it happened and not what: messages may quote what was parsed. */
const framesOf = (error: Error): readonly string[] =>
  (error.stack ?? '')
    .split('\n')
    .filter((line) => line.startsWith('    at '))
    .slice(0, 8)
