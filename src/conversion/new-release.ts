import { type Failed, ok, type Result } from '../core/result.ts'
import type { NamedAccount } from '../credentials/declared.ts'
import type { CallOptions } from '../k8s/kube.ts'
import { accountsOf } from './accounts-of.ts'
import { encodedIn, readBefore } from './before.ts'
import { chartVersionOf } from './chart-version.ts'
import type { Convertible, ConvertServices } from './convertible.ts'
import { writtenIn } from './leftovers.ts'
import { findFree } from './migrated-secret.ts'
import { readableBy } from './tenant-readable.ts'

/** Of the label alone: whoever asks has no more. */
const NO_ROUTES = { definitions: [], roles: [] }

/**
 * Whether a release is one of a chart that has switched already, as far as can be seen: each of its tenant accounts has an
 * account Secret, and no password of theirs stands in the clear. A job would wait in vain for such a one to switch. In doubt
 * it is not: a release without tenant accounts, whose platform's passwords tenants may have read, one that no chart was
 * tried for yet, and one that cannot be read. Fails when our credentials are refused.
 */
export async function isOfSwitchedChart(
  services: ConvertServices,
  of: Convertible,
  call: CallOptions,
): Promise<Result<boolean>> {
  const { release, rules } = of
  if (chartVersionOf(release) === '' || writtenIn(rules, release).length > 0) return ok(false)
  const { accounts, skips } = await accountsOf(of, release)
  if (accounts.length === 0 || skips.length > 0) return ok(false)
  const before = await readBefore(services, of, call)
  if (!before.ok) return inDoubt(before)
  const secret = before.value
  if (accounts.some(({ username }) => encodedIn(of, secret, username) !== '')) return ok(false)
  if (secret !== undefined && readableBy(secret, release, NO_ROUTES) !== undefined) return ok(false)
  return haveSecrets(services, of, accounts, call)
}

/** Seeds count: an application that came with its chart has them. */
async function haveSecrets(
  services: ConvertServices,
  of: Convertible,
  accounts: readonly NamedAccount[],
  call: CallOptions,
): Promise<Result<boolean>> {
  for (const account of accounts) {
    const free = await findFree(services, of, account, call)
    if (!free.ok) return inDoubt(free)
    if (free.value.is !== 'settled' && free.value.is !== 'unissued') return ok(false)
  }
  return ok(true)
}

const inDoubt = (failed: Failed): Result<boolean> =>
  failed.failure.reason === 'kube_unauthenticated' ? failed : ok(false)
