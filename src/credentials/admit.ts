import { inTurns } from '../core/in-turns.ts'
import { ok, type Result } from '../core/result.ts'
import { resolveDeclared } from '../definitions/resolve.ts'
import type { CallOptions } from '../k8s/kube.ts'
import { admitCreate } from './admit-create.ts'
import { admitDelete } from './admit-delete.ts'
import { type AdmissionServices, servedBy } from './admit-served.ts'
import { admitUpdate } from './admit-update.ts'
import { nameAccounts } from './declared.ts'
import { readHolders } from './holders.ts'
import { judge } from './judge.ts'
import { logDone } from './seeding.ts'
import type { Review, Verdict } from './verdict.ts'

/**
 * What is said to a write of a HelmRelease, as a validating webhook. Nothing is ever deleted or replaced for it, and
 * with `dryRun` nothing is stored.
 */
export async function validate(
  services: AdmissionServices,
  review: Review,
  options: CallOptions,
): Promise<Verdict> {
  const { dryRun, by } = review
  const verdict = await answerOf(services, review, { ...options, dryRun, by })
  return verdict.is === 'allowed' ? { ...verdict, adopts: verdict.adopts && !dryRun } : verdict
}

function answerOf(
  services: AdmissionServices,
  review: Review,
  options: CallOptions & { readonly dryRun: boolean; readonly by: string },
): Promise<Verdict> {
  switch (review.operation) {
    case 'CREATE':
      return admitCreate(services, review, options)
    case 'UPDATE':
      return admitUpdate(services, review, options)
    case 'DELETE':
      return admitDelete(services, review, options)
  }
}

/** Writes at once. */
const AT_ONCE = 4

/**
 * Completes the marks of account Secrets of a release that is stored by now, each by one guarded write. Everything is
 * read again: a review is only the occasion. A write that loses a race is left to the next occasion.
 */
export async function adoptOf(
  services: AdmissionServices,
  { namespace, name, by }: Pick<Review, 'namespace' | 'name' | 'by'>,
  options: CallOptions,
): Promise<Result<undefined>> {
  const stored = await services.kube.getHelmRelease(namespace, name, options)
  if (!stored.ok) return stored
  const served = await servedBy(services, stored.value, options)
  if (!served.ok) return served
  if (served.value === undefined) return ok(undefined)
  const { rules, release } = served.value
  const declared = await resolveDeclared(rules, release)
  if (declared.causes.length > 0) return ok(undefined)
  const seeding = { ...served.value, isStored: true }
  const { accounts } = nameAccounts(declared, release.metadata.name)
  const held = await readHolders(services, seeding, accounts, options)
  await inTurns([...held], AT_ONCE, async ([account, holder]) => {
    if (!holder.ok) return
    const judged = judge(holder.value, account, seeding)
    if (judged.do !== 'adopt') return
    const written = await services.kube.updateSecret(judged.secret, options)
    if (written.ok) logDone(services, release, account, 'adopted', by)
  })
  return ok(undefined)
}
