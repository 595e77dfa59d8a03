import type { Failure, KubeFailure } from '../core/failure.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { Kube, WriteOptions } from '../k8s/kube.ts'
import type { Secret, StoredSecret } from '../k8s/objects.ts'
import { holdsValue } from './account-secret.ts'
import { describeChange } from './changes.ts'

/** One conditional write, and what must be known to tell how it ended. */
export interface Intent {
  /** The Credential's name, for messages. */
  readonly credential: string
  readonly namespace: string
  readonly secretName: string
  readonly stored: string
  readonly write:
    | { readonly kind: 'create'; readonly secret: Secret }
    | { readonly kind: 'update'; readonly secret: StoredSecret }
    | { readonly kind: 'replace'; readonly leftover: StoredSecret; readonly secret: Secret }
  /** The object that was read, if there was one. */
  readonly before: StoredSecret | undefined
}

type Writer = Pick<Kube, 'getSecret' | 'createSecret' | 'updateSecret' | 'deleteSecret'>

/**
 * Writes once and never again: a second try could be another mint. Fails with `credential_changed` (somebody was
 * faster), `write_refused` (nothing was stored), `value_altered` (something else was), or `outcome_unknown` (it may
 * have been stored).
 */
export async function store(
  kube: Writer,
  intent: Intent,
  options: WriteOptions,
): Promise<Result<StoredSecret>> {
  const { write } = intent
  if (write.kind === 'replace') {
    const cleared = await clearLeftover(kube, intent, write.leftover, options)
    if (!cleared.ok || options.dryRun) return cleared
  }
  const written =
    write.kind === 'update'
      ? await kube.updateSecret(write.secret, options)
      : await kube.createSecret(write.secret, options)

  // An admission plug-in that changes the value would leave the caller with a password that opens nothing.
  if (written.ok) return holdsValue(written.value, intent.stored) ? written : altered(intent, options)
  return settle(kube, intent, written.failure, options)
}

/** Deletes exactly the object that was read. */
async function clearLeftover(
  kube: Writer,
  intent: Intent,
  leftover: StoredSecret,
  options: WriteOptions,
): Promise<Result<StoredSecret>> {
  const { uid, resourceVersion } = leftover.metadata
  const deleted = await kube.deleteSecret(
    intent.namespace,
    intent.secretName,
    { uid, resourceVersion },
    options,
  )
  if (deleted.ok || deleted.failure.reason === 'kube_absent') return ok(leftover)
  if (deleted.failure.reason === 'kube_conflict') {
    return changed(intent, await kube.getSecret(intent.namespace, intent.secretName))
  }
  if (options.dryRun || isCertain(deleted.failure)) return refused(intent, deleted.failure, false)
  return fail({ reason: 'outcome_unknown', name: intent.credential, leftoverDeleted: true })
}

/** After a write that failed: one read tells success from conflict; a write whose answer was lost may have worked. */
async function settle(
  kube: Writer,
  intent: Intent,
  failure: Failure,
  options: WriteOptions,
): Promise<Result<StoredSecret>> {
  const leftoverDeleted = intent.write.kind === 'replace'
  const conflict = failure.reason === 'kube_conflict' || failure.reason === 'kube_exists'
  if (!conflict && (options.dryRun || isCertain(failure))) return refused(intent, failure, leftoverDeleted)

  // Without the request's signal: the caller may be gone and the deadline over, the answer is needed all the same.
  const now = await kube.getSecret(intent.namespace, intent.secretName)
  if (!options.dryRun && now.ok && now.value !== undefined && isWhatWeWrote(intent, now.value)) {
    return ok(now.value)
  }
  return conflict ? changed(intent, now) : unknownOutcome(intent)
}

/** Somebody was faster. Names who, when the object can still be read. */
function changed(
  { credential, secretName, before }: Intent,
  now: Result<StoredSecret | undefined>,
): Result<never> {
  if (now.ok && now.value?.metadata.deletionTimestamp !== undefined) {
    return fail({ reason: 'secret_terminating', name: credential, secret: secretName })
  }
  const message = now.ok
    ? describeChange(credential, now.value, before)
    : `credential ${credential} changed: read it again`
  return fail({ reason: 'credential_changed', name: credential, message, fields: [] })
}

const isWhatWeWrote = ({ stored, write }: Intent, now: StoredSecret): boolean =>
  holdsValue(now, stored) && (write.kind !== 'update' || now.metadata.uid === write.secret.metadata.uid)

/** A 4xx answer, or a request that never left: nothing was stored. */
const isCertain = (failure: Failure): boolean => {
  if (failure.reason === 'kube_unreachable') return !failure.sent
  return failure.reason !== 'kube_error' && failure.reason !== 'kube_timeout'
}

const refused = (intent: Intent, cause: Failure, leftoverDeleted: boolean): Result<never> =>
  fail({ reason: 'write_refused', name: intent.credential, cause: cause as KubeFailure, leftoverDeleted })

const altered = (
  { credential: name, secretName: secret }: Intent,
  { dryRun = false }: WriteOptions,
): Result<never> => fail({ reason: 'value_altered', name, secret, dryRun })

const unknownOutcome = (intent: Intent): Result<never> =>
  fail({
    reason: 'outcome_unknown',
    name: intent.credential,
    leftoverDeleted: intent.write.kind === 'replace',
  })
