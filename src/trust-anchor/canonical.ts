import { own, textAt } from '../core/json.ts'
import { fromBase64 } from '../core/text.ts'
import type { StoredSecret } from '../k8s/objects.ts'
import { contractEvent, occupiedEvent } from './events.ts'
import { TENANT_CA_LABEL } from './labels.ts'
import { CA_KEY, CA_TYPE, isPublishedFor, releaseOfTarget } from './target.ts'
import { type Verdict, verdict } from './verdict.ts'

/**
 * A source that stands where its projection would go: nothing is written there. One with a private key in it is an
 * accident; one without counts as published whatever it holds (as in `reconcileSourceAtCanonicalName` of
 * `internal/controller/cacert/reconciler.go`, `cozystack/cozystack`), and Event and message say in what it is not as it should be.
 */
export async function judgeCanonical(secret: StoredSecret): Promise<Verdict> {
  const { publishable } = await import('./certificates.ts')
  const { holdsLockedKey } = await import('./locked-key.ts')
  const bytesOf = (key: string) => fromBase64(textAt(secret.data, key) ?? '') ?? new Uint8Array()
  const { name } = secret.metadata
  const keys = Object.keys(secret.data ?? {})
  for (const key of keys) {
    const value = bytesOf(key)
    const read = await publishable(value)
    if ((!read.ok && read.failure.is === 'private-key') || holdsLockedKey(value)) {
      return verdict(
        'CanonicalNameOccupied',
        `the source is Secret ${name} itself, which tenants would read, and it holds a private key, or a keystore that may have one in it`,
        { events: [occupiedEvent(secret)] },
      )
    }
  }
  const { ok: hasCertificates } = await publishable(bytesOf(CA_KEY))
  const deviations = deviationsOf(secret, {
    hasCertificates,
    extra: keys.filter((key) => key !== CA_KEY).length,
  })
  const itself = `the source is Secret ${name} itself, and is left as it is`
  if (deviations.length === 0) return verdict('Projected', itself)
  return verdict('Projected', `${itself}, though ${deviations.join('; and ')}`, {
    events: [contractEvent(secret, deviations)],
  })
}

function deviationsOf(
  secret: StoredSecret,
  { hasCertificates, extra }: { readonly hasCertificates: boolean; readonly extra: number },
): readonly string[] {
  const { type, metadata } = secret
  const isCopy = isPublishedFor(secret, releaseOfTarget(metadata.name) ?? '')
  return [
    ...(type === CA_TYPE ? [] : [`its type is not ${CA_TYPE}`]),
    ...(hasCertificates ? [] : [`its key ${CA_KEY} holds no certificates alone`]),
    ...(extra === 0 ? [] : [`it has ${extra} other ${extra === 1 ? 'key' : 'keys'}`]),
    ...(own(metadata.labels, TENANT_CA_LABEL) === 'true' ? [] : [`it lacks the label ${TENANT_CA_LABEL}`]),
    ...(isCopy ? ['it was published of another Secret before, and nobody renews it: name that one'] : []),
  ]
}
