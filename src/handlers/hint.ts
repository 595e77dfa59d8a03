import { isObject, own, textAt } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { SyncTarget } from '../credentials/sync.ts'
import { isDnsLabel, isDnsSubdomain } from '../k8s/names.ts'
import type { CloudEvent } from './cloud-event.ts'

/** What something that happened may be about. Nothing is believed of it: the object is read again. */
export type Hint = { readonly is: 'release'; readonly target: SyncTarget } | { readonly is: 'tick' }

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

/** Undefined for an event of another type, or about another kind. Fails with `request_malformed` for a name that is none. */
export function hintIn(event: CloudEvent): Result<Hint | undefined> {
  if (event.type === PING_EVENT) return ok({ is: 'tick' })
  return API_SERVER_EVENT.test(event.type) ? hintAt(referenceIn(event)) : ok(undefined)
}

/** The same of an object that something says to be about. Without an apiVersion its kind is enough. */
export function hintAt({ apiVersion, kind, namespace = '', name = '' }: Reference): Result<Hint | undefined> {
  const isRelease = kind === 'HelmRelease' && (apiVersion ?? RELEASE_GROUP).startsWith(RELEASE_GROUP)
  if (!isRelease) return ok(undefined)
  if (isDnsLabel(namespace) && isDnsSubdomain(name)) {
    return ok({ is: 'release', target: { namespace, release: name } })
  }
  return fail({
    reason: 'request_malformed',
    message: 'namespace and name of the HelmRelease are no DNS names',
  })
}

export const referenceAt = (value: unknown): Reference => ({
  apiVersion: textAt(value, 'apiVersion'),
  kind: textAt(value, 'kind'),
  namespace: textAt(value, 'namespace'),
  name: textAt(value, 'name'),
})

/** From the extension attributes that the source sets; older ones set none. */
function referenceIn({ attribute, data }: CloudEvent): Reference {
  if (attribute('kind') !== undefined && attribute('name') !== undefined) {
    return {
      apiVersion: attribute('apiversion'),
      kind: attribute('kind'),
      namespace: attribute('namespace'),
      name: attribute('name'),
    }
  }
  const metadata = own(data, 'metadata')
  const named = isObject(metadata) ? referenceAt(metadata) : referenceAt(data)
  const { apiVersion, kind } = referenceAt(data)
  return { ...named, apiVersion, kind }
}
