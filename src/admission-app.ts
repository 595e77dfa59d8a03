import type { Failure } from './core/failure.ts'
import { mutateRoute, validateRoute } from './handlers/admission.ts'
import { statusOf } from './handlers/answer.ts'
import type { Services } from './handlers/services.ts'
import { type App, createRouter } from './router.ts'

/**
 * The webhooks of kube-apiserver, and nothing else, for a listener of their own: kube-apiserver shows no credentials
 * when it calls a webhook, so that whoever reaches that listener is heard.
 */
export function createAdmissionApp(services: Services): App {
  const { group } = services
  const refuse = (failure: Failure) => statusOf(failure, group)
  const routes = new Map([
    ['/admission/validate', validateRoute(services)],
    ['/admission/mutate', mutateRoute(services)],
  ])
  const { hono, app } = createRouter(services)
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
  return app
}
