import type { Failure } from './core/failure.ts'
import type { Verb } from './core/metrics.ts'
import { statusOf } from './handlers/answer.ts'
import { getRoute, listRoute } from './handlers/credentials.ts'
import { groupRoute, groupsRoute, resourcesRoute } from './handlers/discovery.ts'
import { eventsRoute, tickRoute } from './handlers/events.ts'
import { fluxHookRoute } from './handlers/flux-hook.ts'
import { livez, readyz, versionRoute } from './handlers/health.ts'
import { issueRoute } from './handlers/issue.ts'
import { openApiV2Route, openApiV3Routes } from './handlers/openapi.ts'
import { projectionSyncRoute } from './handlers/projection-sync.ts'
import { API_VERSION, type Exchange, type Handler, type Services } from './handlers/services.ts'
import { syncRoute } from './handlers/sync.ts'
import { createSyncHinted } from './handlers/sync-hinted.ts'
import { createTick } from './handlers/tick.ts'
import { type App, createRouter, type Route } from './router.ts'

/** A route that is there for something. */
type Served = Required<Route> & { readonly method: 'GET' | 'POST' }

/** Every route there is. Other methods on these paths are 405, other paths 404. */
const routesOf = (services: Services): readonly Served[] => {
  const version = `/apis/${services.group}/${API_VERSION}`
  const credentials = `${version}/namespaces/:namespace/credentials`
  const openApiV3 = openApiV3Routes(services)
  return [
    { method: 'GET', path: '/livez', verb: 'health', handler: livez },
    { method: 'GET', path: '/healthz', verb: 'health', handler: livez },
    { method: 'GET', path: '/readyz', verb: 'health', handler: readyz(services) },
    { method: 'GET', path: '/version', verb: 'other', handler: versionRoute(services) },
    { method: 'GET', path: '/apis', verb: 'discovery', handler: groupsRoute(services) },
    { method: 'GET', path: `/apis/${services.group}`, verb: 'discovery', handler: groupRoute(services) },
    { method: 'GET', path: version, verb: 'discovery', handler: resourcesRoute(services) },
    { method: 'GET', path: '/openapi/v2', verb: 'openapi', handler: openApiV2Route(services) },
    { method: 'GET', path: '/openapi/v3', verb: 'openapi', handler: openApiV3.index },
    { method: 'GET', path: `/openapi/v3${version}`, verb: 'openapi', handler: openApiV3.document },
    { method: 'GET', path: credentials, verb: 'list', handler: listRoute(services) },
    { method: 'GET', path: `${credentials}/:name`, verb: 'get', handler: getRoute(services) },
    {
      method: 'POST',
      path: `${credentials}/:name/mint`,
      verb: 'mint',
      handler: issueRoute(services, 'Mint'),
    },
    {
      method: 'POST',
      path: `${credentials}/:name/revoke`,
      verb: 'revoke',
      handler: issueRoute(services, 'Revoke'),
    },
    {
      method: 'POST',
      path: `${version}/namespaces/:namespace/helmreleases/:release/sync`,
      verb: 'sync',
      handler: syncRoute(services),
    },
    ...(services.anchors === undefined ? [] : [projectionSync(services, version)]),
    ...hintRoutesOf(services),
  ]
}

const projectionSync = (services: Services, version: string): Served => ({
  method: 'POST',
  path: `${version}/namespaces/:namespace/tenantprojections/:projection/sync`,
  verb: 'sync',
  handler: projectionSyncRoute(services),
})

/** What is told that something happened. Each is there only where somebody may use it. */
function hintRoutesOf(services: Services): readonly Served[] {
  const { eventSender: sender, fluxKeys } = services
  const syncHinted = createSyncHinted(services, createTick(services))
  const post = (path: string, verb: Verb, handler: Handler): Served => ({
    method: 'POST',
    path,
    verb,
    handler,
  })
  return [
    ...(sender === undefined
      ? []
      : [
          post('/events', 'events', eventsRoute(services, sender, syncHinted)),
          post('/tick', 'tick', tickRoute(services, sender, syncHinted)),
        ]),
    ...(fluxKeys.length === 0 ? [] : [post('/hooks/flux', 'events', fluxHookRoute(services, syncHinted))]),
  ]
}

/** The whole function. Knows no runtime. */
export function createApp(services: Services): App {
  const { group } = services
  const all = (path: string, failureOf: (exchange: Exchange) => Failure): Route => ({
    method: 'ALL',
    path,
    handler: (exchange) => statusOf(failureOf(exchange), group),
  })
  const version = `/apis/${group}/${API_VERSION}`
  const served = routesOf(services)
  const named = [
    'credentials',
    'helmreleases',
    ...(services.anchors === undefined ? [] : ['tenantprojections']),
  ]
  const routes = [
    ...served,
    ...served.map((route) => all(route.path, (exchange) => wrongMethod(exchange, route))),
    all(`${version}/credentials`, () => NAMESPACED_ONLY),
    ...named.map((resource) =>
      all(`${version}/namespaces/:namespace/${resource}/:name/:verb/:more{.+}`, () => TOO_LONG),
    ),
  ]
  return createRouter(routes, services)
}

const NAMESPACED_ONLY: Failure = {
  reason: 'method_not_allowed',
  allow: [],
  message: 'credentials are listed by namespace only',
}

const TOO_LONG: Failure = {
  reason: 'request_malformed',
  message: 'the path has segments after the name of the call',
}

const wrongMethod = ({ request }: Exchange, { method, verb }: Served): Failure => ({
  reason: 'method_not_allowed',
  allow: method === 'GET' ? ['GET', 'HEAD'] : ['POST'],
  message: `${request.method} is not supported on ${request.path}${READ_ONLY.has(verb) ? WHAT_TO_DO : ''}`,
})

const READ_ONLY: ReadonlySet<string> = new Set<Verb>(['list', 'get'])
/** For `kubectl edit`, `apply`, `label` or `delete`, say. */
const WHAT_TO_DO =
  ': credentials are read only. POST to .../credentials/NAME/mint or .../revoke, or use kubectl mint'
