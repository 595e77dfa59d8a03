import { own, textAt } from '../core/json.ts'
import { fromBase64 } from '../core/text.ts'
import type { StoredSecret } from '../k8s/objects.ts'
import { contractEvent, occupiedEvent } from './events.ts'
import { TENANT_CA_LABEL } from './labels.ts'
import { CA_KEY, CA_TYPE } from './target.ts'
import { type Verdict, verdict } from './verdict.ts'

/**
 * A source that stands where its projection would go: nothing is written there. One with a private key in it is an
 * accident; one without counts as published, and an Event says in what it is not as it should be.
 */
export async function judgeCanonical(secret: StoredSecret): Promise<Verdict> {
  const { publishable } = await import('./certificates.ts')
  const read = async (key: string) =>
    publishable(fromBase64(textAt(secret.data, key) ?? '') ?? new Uint8Array())
  const { name } = secret.metadata
  const keys = Object.keys(secret.data ?? {})
  for (const key of keys) {
    const value = await read(key)
    if (!value.ok && value.failure.is === 'private-key') {
      return verdict(
        'CanonicalNameOccupied',
        `the source is Secret ${name} itself, which tenants would read, and it holds a private key`,
        { events: [occupiedEvent(secret)] },
      )
    }
  }
  const certificates = await read(CA_KEY)
  const extra = keys.filter((key) => key !== CA_KEY).length
  const deviations = [
    ...(secret.type === CA_TYPE ? [] : [`its type is not ${CA_TYPE}`]),
    ...(certificates.ok ? [] : [`its key ${CA_KEY} holds no certificates alone`]),
    ...(extra === 0 ? [] : [`it has ${extra} other ${extra === 1 ? 'key' : 'keys'}`]),
    ...(own(secret.metadata.labels, TENANT_CA_LABEL) === 'true'
      ? []
      : [`it lacks the label ${TENANT_CA_LABEL}`]),
  ]
  return verdict('Projected', `the source is Secret ${name} itself, and is left as it is`, {
    events: deviations.length === 0 ? [] : [contractEvent(secret, deviations)],
  })
}
