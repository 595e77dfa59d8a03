import { isObject, own, textAt } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { SyncTarget } from '../credentials/sync.ts'
import { isDnsLabel, isDnsSubdomain } from '../k8s/names.ts'
import type { CloudEvent } from './cloud-event.ts'

/** What something that happened may be about. Nothing is believed of it: the object is read again. */
export type Hint =
  | { readonly is: 'release'; readonly target: SyncTarget }
  | { readonly is: 'projection'; readonly target: { readonly namespace: string; readonly name: string } }
  | { readonly is: 'secret'; readonly target: { readonly namespace: string; readonly secret: string } }
  | { readonly is: 'tick' }

/** A `v1` ObjectReference, as it came. */
interface Reference {
  readonly apiVersion: string | undefined
  readonly kind: string | undefined
  readonly namespace: string | undefined
  readonly name: string | undefined
}

/** Of an ApiServerSource in either mode (`knative.dev/eventing/pkg/apis/sources/v1/apiserver_types.go`). */
const API_SERVER_EVENT = /^dev\.knative\.apiserver\.(ref|resource)\.(add|update|delete)$/
/** Of a PingSource (`knative.dev/eventing/pkg/apis/sources/v1/ping_types.go`). */
const PING_EVENT = 'dev.knative.sources.ping'
const RELEASE_GROUP = 'helm.toolkit.fluxcd.io/'
const PROJECTION_GROUP = 'internal.cozystack.io/'
/**
 * Secrets that no engine leaves its CA in, of which there are many: those that a mint writes, and what Helm keeps
 * (`helm.sh/helm/pkg/storage/driver/secrets.go`).
 */
const NO_SOURCE = /\.account$|^sh\.helm\.release\.v1\./

/**
 * Undefined for an event of another type, or about another kind. What CAs come from counts where some are published
 * (`anchors`), Secrets in mode Reference only. Fails with `request_malformed` for a name that is none.
 */
export function hintIn(event: CloudEvent, { anchors = false } = {}): Result<Hint | undefined> {
  if (event.type === PING_EVENT) return ok({ is: 'tick' })
  const [, mode] = API_SERVER_EVENT.exec(event.type) ?? []
  if (mode === undefined) return ok(undefined)
  const reference = referenceIn(event)
  if (!anchors || reference.kind === 'HelmRelease') return hintAt(reference)
  // In mode Resource the data of a Secret travels with the event: whoever sends it so is not to be relied on.
  return reference.kind === 'Secret' && mode !== 'ref' ? ok(undefined) : anchorHintAt(reference)
}

/** The same of an object that something says to be about. Without an apiVersion its kind is enough. */
export function hintAt({ apiVersion, kind, namespace = '', name = '' }: Reference): Result<Hint | undefined> {
  const isRelease = kind === 'HelmRelease' && (apiVersion ?? RELEASE_GROUP).startsWith(RELEASE_GROUP)
  if (!isRelease) return ok(undefined)
  if (isDnsLabel(namespace) && isDnsSubdomain(name)) {
    return ok({ is: 'release', target: { namespace, release: name } })
  }
  return malformed('HelmRelease')
}

function anchorHintAt({ apiVersion, kind, namespace = '', name = '' }: Reference): Result<Hint | undefined> {
  const isProjection =
    kind === 'TenantProjection' && (apiVersion ?? PROJECTION_GROUP).startsWith(PROJECTION_GROUP)
  const isSecret = kind === 'Secret' && (apiVersion ?? 'v1') === 'v1'
  if (!isProjection && !isSecret) return ok(undefined)
  if (!isDnsLabel(namespace) || !isDnsSubdomain(name)) return malformed(kind)
  if (isProjection) return ok({ is: 'projection', target: { namespace, name } })
  return ok(NO_SOURCE.test(name) ? undefined : { is: 'secret', target: { namespace, secret: name } })
}

const malformed = (kind: string): Result<never> =>
  fail({ reason: 'request_malformed', message: `namespace and name of the ${kind} are no DNS names` })

export const referenceAt = (value: unknown): Reference => ({
  apiVersion: textAt(value, 'apiVersion'),
  kind: textAt(value, 'kind'),
  namespace: textAt(value, 'namespace'),
  name: textAt(value, 'name'),
})

/**
 * From the extension attributes that the source sets; older ones set none, and have it in the data: a reference, or the
 * object itself, of which no more than this is looked at.
 */
function referenceIn(event: CloudEvent): Reference {
  const { attribute } = event
  if (attribute('kind') !== undefined && attribute('name') !== undefined) {
    return {
      apiVersion: attribute('apiversion'),
      kind: attribute('kind'),
      namespace: attribute('namespace'),
      name: attribute('name'),
    }
  }
  const { data } = event
  const metadata = own(data, 'metadata')
  const { apiVersion, kind } = referenceAt(data)
  return { ...referenceAt(isObject(metadata) ? metadata : data), apiVersion, kind }
}
