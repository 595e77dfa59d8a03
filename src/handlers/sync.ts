import type { Caller } from '../auth/authenticator.ts'
import type { Access, Failure, KubeFailure } from '../core/failure.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { applicationOf } from '../credentials/application.ts'
import { type SyncReport, sync } from '../credentials/sync.ts'
import { isDnsLabel } from '../k8s/names.ts'
import type { Exchange, Services } from './services.ts'
import { type Asked, type Done, type Named, syncCallRoute } from './sync-call.ts'
import { syncServicesOf } from './sync-services.ts'

/** What whoever changes the application itself needs. */
interface Needed {
  readonly access: Access
  /** Of application. */
  readonly kind: string
}

/** `POST …/helmreleases/{release}/sync`. */
export const syncRoute = (services: Services) =>
  syncCallRoute<Needed>(services, {
    resource: 'helmreleases',
    kind: 'HelmRelease',
    param: 'release',
    prepare: (release, options) => updateAccess(services, release, options),
    perform: async (exchange, release, { access, kind }, asked) => {
      // Nobody else has asked that one.
      const mayUpdate = await services.authorize(asked.caller, access, { signal: asked.signal })
      if (!mayUpdate.ok) return mayUpdate
      exchange.setKind(kind)
      const synced = await syncNow(services, exchange, release, asked)
      return synced.ok ? ok(doneOf(synced.value)) : synced
    },
  })

/** Nobody else than who may change the application itself is to have an effect on its accounts. */
async function updateAccess(
  { kube, definitions }: Services,
  { namespace, name }: Named,
  options: { readonly signal: AbortSignal },
): Promise<Result<Needed>> {
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
  exchange: Exchange,
  { namespace, name: release }: Named,
  { caller, signal }: Asked,
): Promise<Result<SyncReport>> {
  const target = { namespace, release }
  const done = await sync(syncServicesOf(services, exchange), target, { ...askerOf(caller), signal })
  if (!done.ok) {
    return isConflict(done.failure) ? fail({ reason: 'sync_refused', release, cause: done.failure }) : done
  }
  if (done.value.is === 'synced') return ok(done.value.report)
  const why = done.value.is === 'unserved' ? { why: done.value.why } : {}
  return fail({ reason: 'release_not_found', release, ...why })
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
export const isConflict = (failure: Failure): failure is KubeFailure => CONFLICTS.has(failure.reason)

const countsOf = ({ created, adopted, marked, deleted, warnings }: SyncReport) => ({
  created: created.length,
  adopted: adopted.length,
  marked: marked.length,
  deleted: deleted.length,
  warnings,
})

/** The counts as causes, each with a reason of its own, and in words. */
function doneOf(report: SyncReport): Done {
  const fields = countsOf(report)
  const counts = Object.entries(fields)
  return {
    message: counts.map(([what, count]) => `${what} ${count}`).join(', '),
    causes: counts.map(causeOf),
    fields,
  }
}

const causeOf = ([what, count]: readonly [string, number]) => ({
  reason: `${what.slice(0, 1).toUpperCase()}${what.slice(1)}`,
  message: String(count),
})
