import { HonoBase } from 'hono/hono-base'
import { TrieRouter } from 'hono/router/trie-router'
import { type App, framesOf, targetOf } from './app.ts'
import type { Failure } from './core/failure.ts'
import { mutateRoute, validateRoute } from './handlers/admission.ts'
import { crashed, statusOf } from './handlers/answer.ts'
import { measure } from './handlers/measure.ts'
import type { AppEnv, Services } from './handlers/services.ts'
import { checkTarget } from './handlers/target.ts'

/**
 * The webhooks of kube-apiserver, and nothing else, for a listener of their own: kube-apiserver shows no credentials
 * when it calls a webhook, so that whoever reaches that listener is heard.
 */
export function createAdmissionApp(services: Services): App {
  const { group, deps } = services
  const refuse = (failure: Failure) => statusOf(failure, group)
  const routes = new Map([
    ['/admission/validate', validateRoute(services)],
    ['/admission/mutate', mutateRoute(services)],
  ])
  const hono = new HonoBase<AppEnv>({ router: new TrieRouter() })
  hono.use(measure(deps))
  hono.use(async (c, next) => {
    const target = checkTarget(c.env.rawTarget ?? targetOf(c.req.url))
    return target.ok ? next() : refuse(target.failure)
  })
  for (const [path, handler] of routes) {
    hono.post(path, (c) => {
      c.set('verb', 'admission')
      return handler(c)
    })
    hono.all(path, (c) =>
      refuse({
        reason: 'method_not_allowed',
        allow: ['POST'],
        message: `${c.req.method} is not supported on ${path}`,
      }),
    )
  }
  hono.notFound(() => refuse({ reason: 'route_unknown' }))
  hono.onError((error) => {
    deps.log('error', 'crashed', { error: error.name, at: framesOf(error) })
    return crashed()
  })
  return async (request, context) => {
    try {
      return await hono.fetch(request, context)
    } catch {
      // Hono rethrows what is no Error.
      deps.log('error', 'crashed', { error: 'thrown value' })
      return crashed()
    }
  }
}
