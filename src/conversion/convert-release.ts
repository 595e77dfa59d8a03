import type { Failure } from '../core/failure.ts'
import { ok, type Result } from '../core/result.ts'
import type { StoredSecret } from '../k8s/objects.ts'
import { accountsOf } from './accounts-of.ts'
import { readBefore } from './before.ts'
import { carryOver, type Found, type Outcome, settledOutcome } from './carry-over.ts'
import type { Converted, Convertible, ConvertOptions, ConvertServices } from './convertible.ts'
import { hasAppliedPasswords, hasLastApplied } from './leftovers.ts'
import { findFree } from './migrated-secret.ts'
import type { Note } from './notes.ts'

/** What was done, and what it was done by. Not in one object: nobody is to print a password by mistake. */
export interface Conversion {
  readonly converted: Converted
  /**
   * By username: the password from before, as it stood in the Secret's `data` (empty where there was none), that the
   * account Secret was made from or compared with. Without those that were minted since.
   */
  readonly checked: ReadonlyMap<string, string>
}

/**
 * Gives each tenant account of a release that has no account Secret one with the value of the password that it has from
 * before, and the same to a seed that was never minted. One that has such a value already is compared with the password
 * that the Secret from before has now. Nothing that a chart reads is touched. Fails when the API server does not answer, or
 * refuses us: what was written stays, and another run goes on from there.
 */
export async function convertRelease(
  services: ConvertServices,
  of: Convertible,
  options: ConvertOptions,
): Promise<Result<Conversion>> {
  const { accounts, skips } = await accountsOf(of, of.release)
  const found: Found[] = []
  for (const account of accounts) {
    const free = await findFree(services, of, account, options)
    if (!free.ok) return free
    found.push({ account, free: free.value })
  }
  const held = found.flatMap(({ free }) => (free.is === 'held' ? [free.skip] : []))
  const before = found.some(needsBefore) ? await readBefore(services, of, options) : ok(undefined)
  if (!before.ok) return before
  const settled = await Promise.all(found.map((each) => settledOutcome(of, before.value, each)))
  const todo = found.filter(({ free }) => free.is === 'absent' || free.is === 'unissued')
  const carried = await carryOver(services, of, { todo, before: before.value }, options)
  if (!carried.ok) return carried
  const outcomes = [...settled, ...carried.value]
  return ok({
    converted: {
      accounts: outcomes.flatMap(({ converted }) => converted ?? []),
      skips: [...skips, ...held, ...outcomes.flatMap((outcome) => outcome.skips ?? [])],
      notes: notesOf(of, todo.length > 0 ? before.value : undefined, outcomes),
    },
    checked: new Map(outcomes.flatMap(({ checked }) => (checked === undefined ? [] : [checked]))),
  })
}

const needsBefore = ({ free }: Found): boolean =>
  free.is === 'absent' || free.is === 'unissued' || (free.is === 'settled' && free.migrated !== undefined)

function notesOf(
  { rules, release }: Convertible,
  before: StoredSecret | undefined,
  outcomes: readonly Outcome[],
): readonly Note[] {
  const { name } = release.metadata
  return [
    ...(before !== undefined && hasLastApplied(before)
      ? [{ is: 'LastApplied', secret: before.metadata.name } as const]
      : []),
    ...(hasAppliedPasswords(rules, release) ? [{ is: 'ReleaseLastApplied', release: name } as const] : []),
    ...outcomes.flatMap(({ note }) => note ?? []),
  ]
}

/** Whether the same call may succeed later. */
export const isPassing = ({ reason }: Failure): boolean =>
  reason === 'kube_overloaded' ||
  reason === 'kube_timeout' ||
  reason === 'kube_unreachable' ||
  reason === 'kube_error'
