import { own, textAt } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { decodeData, encodeData } from '../../core/text.ts'
import { generatePassword } from '../../credentials/password.ts'
import type { HelmRelease, StoredSecret } from '../../k8s/objects.ts'
import { type DueAccount, finish, type Rotated, type RotationOf, type Round } from './finish.ts'
import { keepPending, type Pending, type PendingAccount, pendingNameOf, readPending } from './pending.ts'
import { holds, missingIn, rotatedIn, rotatedSecret } from './rotated.ts'
import type { Patience, RotationServices } from './rotator.ts'
import { hold, lift } from './suspension.ts'

/** Others may resume the release while it is held. */
const MAX_ROUNDS = 5
const MAX_TRIES = 10

/**
 * Gives accounts new passwords: pending ones are kept first, then the engine takes them, then the Secret has them, with
 * the release suspended all the while. At every moment what the engine takes stands in that Secret or in the pending
 * one. It may be cut off anywhere and run again, and several at a time: no account is given two new passwords. Fails as
 * calls do. Where it does not come to an end, a suspension of ours is lifted; a run that is killed leaves it to the next.
 */
export async function rotate(
  services: RotationServices,
  of: RotationOf,
  patience: Patience,
): Promise<Result<Rotated>> {
  const done = await rounds(services, of, patience)
  if (done.ok && (done.value.is === 'rotated' || done.value.is === 'gone')) return done
  // What is pending stays. Best effort: what hindered the rotation may hinder this.
  await lift(services, of)
  return done
}

async function rounds(
  services: RotationServices,
  of: RotationOf,
  patience: Patience,
): Promise<Result<Rotated>> {
  for (let rounds = 0; rounds < MAX_ROUNDS; rounds += 1) {
    const round = await roundOf(services, of, patience)
    if (!round.ok || round.value !== undefined) return round as Result<Rotated>
  }
  return ok({ is: 'hindered', why: 'it is resumed again and again while its password is changed' })
}

async function roundOf(services: RotationServices, of: RotationOf, patience: Patience): Promise<Round> {
  const isThere = await hasWork(services, of)
  if (!isThere.ok) return isThere
  if (!isThere.value) {
    const lifted = await lift(services, of)
    return lifted.ok ? ok({ is: 'rotated', usernames: [] }) : lifted
  }
  const held = await hold(services, of, patience)
  if (!held.ok || held.value.is !== 'held') return held as Result<Rotated>
  const unfit = await of.recheck(held.value.release)
  if (!unfit.ok) return unfit
  if (unfit.value !== undefined) return ok({ is: 'unfit', unfit: unfit.value })
  const pending = await pendingOf(services, of)
  if (!pending.ok) return pending
  if (pending.value === 'unreadable') return ok({ is: 'hindered', why: unreadable(of) })
  return pending.value === undefined
    ? ok(undefined)
    : change(services, of, { pending: pending.value, held: held.value.release }, patience)
}

async function change(
  services: RotationServices,
  of: RotationOf,
  begun: { readonly pending: Pending; readonly held: HelmRelease },
  patience: Patience,
): Promise<Round> {
  const changed = await changeAll(services, of, begun.pending)
  if (!changed.ok) return changed
  if (changed.value !== undefined) return ok({ is: 'hindered', why: changed.value })
  return finish(services, of, begun, patience)
}

const unreadable = ({ uid }: RotationOf): string =>
  `Secret ${pendingNameOf(uid)} in the platform's namespace cannot be read any more: the password of the engine may stand in it`

/** Whether there is something to go on with or to begin. */
async function hasWork(
  { kube, platformNamespace }: RotationServices,
  of: RotationOf,
): Promise<Result<boolean>> {
  const pending = await kube.getSecret(platformNamespace, pendingNameOf(of.uid))
  if (!pending.ok) return pending
  if (pending.value !== undefined) return ok(true)
  const secret = await kube.getSecret(of.namespace, of.secretName)
  return secret.ok ? ok(dueIn(secret.value, of).length > 0) : secret
}

/** Of the accounts those that have a password there, and none that a rotation gave it. */
function dueIn(secret: StoredSecret | undefined, { accounts }: RotationOf): readonly DueAccount[] {
  if (secret === undefined) return []
  const rotated = rotatedIn(secret)
  return accounts.filter(({ username, key }) => !rotated.has(username) && textAt(own(secret, 'data'), key))
}

/** What has begun already, or else new passwords for what is due. Undefined when nothing is, any more. */
async function pendingOf(
  services: RotationServices,
  of: RotationOf,
): Promise<Result<Pending | 'unreadable' | undefined>> {
  const begun = await readPending(services, of.uid)
  if (!begun.ok || begun.value !== undefined) return begun
  // Read after the release was held: an upgrade may have written it before.
  const secret = await services.kube.getSecret(of.namespace, of.secretName)
  if (!secret.ok) return secret
  const accounts = dueIn(secret.value, of).map(
    ({ username, key }): PendingAccount => ({
      username,
      key,
      password: generatePassword(services.deps),
      previous: textAt(secret.value?.data, key) ?? '',
    }),
  )
  return accounts.length === 0 ? ok(undefined) : keepPending(services, { ...of, accounts })
}

/** Answers what hindered it; undefined when engines and Secret have all that is pending. */
async function changeAll(
  services: RotationServices,
  of: RotationOf,
  pending: Pending,
): Promise<Result<string | undefined>> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    // Read again: the marks of another run that has ended just now say that its passwords count, and not these.
    const read = await services.kube.getSecret(of.namespace, of.secretName)
    if (!read.ok) return read
    const secret = read.value
    if (secret === undefined) return ok(`Secret ${of.secretName} is gone`)
    const missing = missingIn(secret, pending)
    const engines = await changeEngines(services, of, { missing, secret })
    if (!engines.ok || engines.value !== undefined) return engines
    if (missing.every((account) => holds(secret, account))) return ok(undefined)
    const changed = missing.map(({ username, key, password }) => ({
      username,
      key,
      data: encodeData(password),
    }))
    const written = await services.kube.updateSecret(
      rotatedSecret(secret, changed, pending.secret.metadata.uid),
    )
    if (!written.ok && written.failure.reason !== 'kube_conflict') return written
  }
  return fail({ reason: 'kube_conflict' })
}

async function changeEngines(
  services: RotationServices,
  of: RotationOf,
  { missing, secret }: { readonly missing: readonly PendingAccount[]; readonly secret: StoredSecret },
): Promise<Result<string | undefined>> {
  for (const { username, key, password, previous } of missing) {
    const rotator = of.accounts.find((account) => account.username === username)?.rotator
    if (rotator === undefined)
      return ok(`nobody knows how to change the password of ${JSON.stringify(username)}`)
    if (rotator.by !== 'exec') continue
    const known = [textAt(secret.data, key), previous].flatMap((data) => decodeData(data) ?? [])
    const passwords = { pending: password, known: [...new Set(known)].filter((each) => each !== password) }
    const changed = await rotator.change(services, of, passwords)
    if (!changed.ok) return changed
    if (changed.value !== undefined) return ok(`user ${JSON.stringify(username)}: ${changed.value}`)
  }
  return ok(undefined)
}
