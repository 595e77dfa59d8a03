import { mutateRoute, validateRoute } from './handlers/admission.ts'
import { statusOf } from './handlers/answer.ts'
import type { Handler, Services } from './handlers/services.ts'
import { type App, createRouter, type Route } from './router.ts'

/**
 * The webhooks of kube-apiserver, and nothing else, for a listener of their own: kube-apiserver shows no credentials
 * when it calls a webhook, so that whoever reaches that listener is heard.
 */
export function createAdmissionApp(services: Services): App {
  const routesOf = (path: string, handler: Handler): readonly Route[] => [
    { method: 'POST', path, verb: 'admission', handler },
    { method: 'ALL', path, handler: wrongMethod(services) },
  ]
  const routes = [
    ...routesOf('/admission/validate', validateRoute(services)),
    ...routesOf('/admission/mutate', mutateRoute(services)),
  ]
  return createRouter(routes, services)
}

const wrongMethod =
  ({ group }: Pick<Services, 'group'>): Handler =>
  ({ request: { method, path } }) =>
    statusOf(
      { reason: 'method_not_allowed', allow: ['POST'], message: `${method} is not supported on ${path}` },
      group,
    )
