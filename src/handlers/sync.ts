import type { Context } from 'hono'
import type { Caller } from '../auth/authenticator.ts'
import type { Access, Failure, KubeFailure } from '../core/failure.ts'
import { isObject, parseJson } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { fromUtf8 } from '../core/text.ts'
import { applicationOf } from '../credentials/application.ts'
import { type SyncReport, type SyncTarget, sync } from '../credentials/sync.ts'
import { isDnsLabel, isDnsSubdomain } from '../k8s/names.ts'
import { parseNamespace } from './addressed.ts'
import { json, statusOf } from './answer.ts'
import { readBody } from './body.ts'
import { auditIdOf, callerFields, callerOf } from './identity.ts'
import { parseQuery } from './query.ts'
import type { AppEnv, Services } from './services.ts'
import { syncServicesOf } from './sync-services.ts'

/** What became of a call, and what is known of it for the log. */
interface Outcome {
  readonly result: Result<SyncReport>
  readonly caller?: Caller
}

/** `POST …/helmreleases/{release}/sync`: idempotent, so that a client or proxy may send it twice. */
export const syncRoute =
  (services: Services) =>
  async (c: Context<AppEnv>): Promise<Response> => {
    const startedAt = services.deps.now()
    const { result, caller } = await respond(services, c)
    const answer = result.ok
      ? json(successOf(services.group, c.req.param('release') ?? '', result.value))
      : statusOf(result.failure, services.group)
    services.deps.log(answer.status < 500 ? 'info' : 'error', 'sync', {
      operation: 'Sync',
      namespace: c.req.param('namespace'),
      release: c.req.param('release'),
      ...callerFields(caller),
      auditId: auditIdOf(c.req.raw.headers),
      code: answer.status,
      ...(result.ok ? countsOf(result.value) : { failure: result.failure }),
      durationMs: Math.round(services.deps.now() - startedAt),
    })
    return answer
  }

/** Each step is named, in order, and final when it fails. */
async function respond(services: Services, c: Context<AppEnv>): Promise<Outcome> {
  const request = c.req.raw
  const target = targetOf(c)
  if (!target.ok) return { result: target }
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(services.deadlineMs)])
  const caller = await callerOf(services, c, signal)
  if (!caller.ok) return { result: caller }

  const known = { caller: caller.value }
  const asked = await readRequest(request, signal)
  const [allowed, needed] = await Promise.all([
    services.authorize(caller.value, syncAccess(services, target.value), { signal, isAskedUpstream: true }),
    asked.ok ? updateAccess(services, target.value, { signal }) : asked,
  ])
  // Nothing that was read counts before the reviews have allowed the request.
  if (!allowed.ok) return { ...known, result: allowed }
  if (!needed.ok) return { ...known, result: needed }
  // Nobody else has asked that one.
  const mayUpdate = await services.authorize(caller.value, needed.value.access, { signal })
  if (!mayUpdate.ok) return { ...known, result: mayUpdate }
  c.set('kind', needed.value.kind)
  return { ...known, result: await syncNow(services, c, target.value, { caller: caller.value, signal }) }
}

function targetOf(c: Context<AppEnv>): Result<SyncTarget> {
  const namespace = parseNamespace(c.req.param('namespace') ?? '')
  if (!namespace.ok) return namespace
  const release = c.req.param('release') ?? ''
  if (isDnsSubdomain(release)) return ok({ namespace: namespace.value, release })
  return fail({
    reason: 'request_malformed',
    message: 'the HelmRelease in the path is no DNS-1123 subdomain',
  })
}

/** There is nothing to say in a body; some clients send `{}` all the same. */
async function readRequest(request: Request, signal: AbortSignal): Promise<Result<undefined>> {
  const query = parseQuery(new URL(request.url).searchParams)
  if (!query.ok) return query
  if (query.value.dryRun) return fail({ reason: 'request_malformed', message: 'dryRun is not supported' })
  const body = await readBody(request, signal)
  if (!body.ok) return body
  if (body.value.length === 0 || isObject(parseJson(fromUtf8(body.value) ?? ''))) return ok(undefined)
  return fail({ reason: 'request_malformed', message: 'the body must be empty or a JSON object' })
}

const syncAccess = ({ group }: Services, { namespace, release }: SyncTarget): Access => ({
  verb: 'create',
  group,
  resource: 'helmreleases',
  subresource: 'sync',
  namespace,
  name: release,
})

/** What whoever changes the application itself needs: nobody else is to have an effect on its accounts. */
async function updateAccess(
  { kube, definitions }: Services,
  { namespace, release: name }: SyncTarget,
  options: { readonly signal: AbortSignal },
): Promise<Result<{ readonly access: Access; readonly kind: string }>> {
  const [release, known] = await Promise.all([
    kube.getHelmRelease(namespace, name, options),
    definitions.load(options),
  ])
  if (!release.ok) return release
  if (release.value === undefined) return fail({ reason: 'release_not_found', release: name })
  const application = applicationOf(release.value)
  if (application === undefined) {
    return fail({ reason: 'release_not_found', release: name, why: 'it is no application' })
  }
  if (!known.ok) return known
  const { kind } = application
  const rules = known.value.rulesFor(kind)
  if (!rules.ok) return rules
  if (rules.value === undefined) {
    const why = `applications of kind ${kind} have no minted credentials`
    return fail({ reason: 'release_not_found', release: name, why })
  }
  const { plural, definition } = rules.value
  if (plural === undefined || !isDnsLabel(plural)) {
    const field = 'spec.application.plural'
    return fail({
      reason: 'definition_wrong',
      definition,
      field,
      problem: 'must be the plural of a resource',
    })
  }
  const resource = { group: application.group, resource: plural }
  return ok({ access: { verb: 'update', ...resource, namespace, name: application.name }, kind })
}

async function syncNow(
  services: Services,
  c: Context<AppEnv>,
  target: SyncTarget,
  { caller, signal }: { readonly caller: Caller; readonly signal: AbortSignal },
): Promise<Result<SyncReport>> {
  const done = await sync(syncServicesOf(services, c), target, { ...askerOf(caller), signal })
  if (!done.ok) return isConflict(done.failure) ? fail(overtaken(target, done.failure)) : done
  if (done.value.is === 'synced') return ok(done.value.report)
  const why = done.value.is === 'unserved' ? { why: done.value.why } : {}
  return fail({ reason: 'release_not_found', release: target.release, ...why })
}

const askerOf = ({ username, impersonator }: Caller) => ({
  by: username,
  ...(impersonator === undefined ? {} : { impersonator }),
})

/** What stands in the way is in the cluster and no mistake of the platform. */
const CONFLICTS: ReadonlySet<Failure['reason']> = new Set<Failure['reason']>([
  'kube_conflict',
  'kube_quota_exceeded',
  'kube_namespace_terminating',
  'kube_immutable',
])
const isConflict = (failure: Failure): failure is KubeFailure => CONFLICTS.has(failure.reason)

const overtaken = ({ release }: SyncTarget, cause: KubeFailure): Failure => ({
  reason: 'sync_refused',
  release,
  cause,
})

const countsOf = ({ created, adopted, marked, deleted, warnings }: SyncReport) => ({
  created: created.length,
  adopted: adopted.length,
  marked: marked.length,
  deleted: deleted.length,
  warnings,
})

/** `metav1.Status`: the counts as causes, each with a reason of its own, and in words. */
function successOf(group: string, name: string, report: SyncReport): unknown {
  const counts = Object.entries(countsOf(report))
  const message = counts.map(([what, count]) => `${what} ${count}`).join(', ')
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    message,
    details: { name, group, kind: 'helmreleases', causes: counts.map(causeOf) },
    code: 200,
  }
}

const causeOf = ([what, count]: readonly [string, number]) => ({
  reason: `${what.slice(0, 1).toUpperCase()}${what.slice(1)}`,
  message: String(count),
})
