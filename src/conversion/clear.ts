import { fail, ok, type Result } from '../core/result.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import type { ConversionKube } from '../k8s/conversion-kube.ts'
import type { Kube } from '../k8s/kube.ts'
import type { HelmRelease, StoredSecret } from '../k8s/objects.ts'
import { hasLastApplied, type KeysLeft, withoutKeys, withoutPasswords } from './leftovers.ts'

interface Services {
  readonly kube: Pick<Kube, 'getHelmRelease' | 'getSecret' | 'updateSecret' | 'deleteSecret'>
  readonly conversionKube: Pick<ConversionKube, 'patchHelmRelease'>
}

interface Whose {
  readonly rules: CredentialRules
  readonly converted: ReadonlySet<string>
}

/** Reads of one object that others are changing, one after the other. */
const MAX_TRIES = 10

/**
 * Takes the passwords in the clear of these users out of the values of a release, by a patch of the very version that was
 * read. Answers how many there were; undefined when the release is gone. Fails as calls do.
 */
export async function clearValues(
  { kube, conversionKube }: Services,
  { rules, converted }: Whose,
  read: HelmRelease,
): Promise<Result<number | undefined>> {
  const { namespace = '', name, uid } = read.metadata
  let release: HelmRelease | undefined = read
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    if (release === undefined || release.metadata.uid !== uid) return ok(undefined)
    const operations = withoutPasswords(rules, release, converted)
    if (operations.length === 0) return ok(0)
    const { resourceVersion = '' } = release.metadata
    const patched = await conversionKube.patchHelmRelease(
      namespace,
      name,
      { uid, resourceVersion },
      operations,
    )
    if (patched.ok) return ok(operations.length)
    if (patched.failure.reason !== 'kube_conflict') return patched
    const again = await kube.getHelmRelease(namespace, name)
    if (!again.ok) return again
    release = again.value
  }
  return fail({ reason: 'kube_conflict' })
}

export interface ClearedSecret {
  /** Of tenants' passwords that were deleted. */
  readonly keys: readonly string[]
  readonly isDeleted: boolean
  /** As it is now. Undefined when there is none. */
  readonly secret: StoredSecret | undefined
}

/**
 * Deletes the passwords of tenants from the Secret from before, or the whole of it when nobody needs any of it, by a
 * write of the very version that was read. Fails as writes do.
 */
export async function clearSecret(
  { kube }: Services,
  read: StoredSecret | undefined,
  leftIn: (secret: StoredSecret) => KeysLeft,
): Promise<Result<ClearedSecret>> {
  let secret = read
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    // What is stored is not the value of the password that works: the release is looked at from the beginning.
    if (secret !== undefined && leftIn(secret).changed.length > 0) break
    const cleared = await clearOnce({ kube }, secret, leftIn)
    if (!isRace(cleared) || secret === undefined) return cleared
    const again = await kube.getSecret(secret.metadata.namespace ?? '', secret.metadata.name)
    if (!again.ok) return again
    secret = again.value
  }
  return fail({ reason: 'kube_conflict' })
}

const isRace = (result: Result<unknown>): boolean =>
  !result.ok && (result.failure.reason === 'kube_conflict' || result.failure.reason === 'kube_absent')

async function clearOnce(
  { kube }: Pick<Services, 'kube'>,
  secret: StoredSecret | undefined,
  leftIn: (secret: StoredSecret) => KeysLeft,
): Promise<Result<ClearedSecret>> {
  if (secret === undefined) return ok({ keys: [], isDeleted: false, secret })
  const { keys, isAll } = leftIn(secret)
  if (!isAll && keys.length === 0 && !hasLastApplied(secret)) {
    return ok({ keys, isDeleted: false, secret })
  }
  const { namespace = '', name, uid, resourceVersion } = secret.metadata
  const written = isAll
    ? await kube.deleteSecret(namespace, name, { uid, resourceVersion })
    : await kube.updateSecret(withoutKeys(secret, keys))
  return written.ok ? ok({ keys, isDeleted: isAll, secret: written.value }) : written
}
