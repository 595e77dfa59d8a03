import { isObject, own } from '../core/json.ts'
import { resolveDeclared } from '../definitions/resolve.ts'
import type { Entry } from '../definitions/rules.ts'
import type { CallOptions } from '../k8s/kube.ts'
import { READING } from './admit-create.ts'
import {
  type AdmissionServices,
  changesValues,
  definitionWarning,
  type Served,
  servedBy,
} from './admit-served.ts'
import { type NamedAccount, nameAccounts } from './declared.ts'
import { readHolders } from './seeding.ts'
import { ALLOWED, allowed, type PatchOperation, type Review, refused, type Verdict } from './verdict.ts'
import { referencesTo, valuesFromOf, wired } from './wiring.ts'
import { entriesOf, fieldOf } from './written.ts'

/**
 * What is changed in a HelmRelease before it is stored, as a mutating webhook: passwords that somebody has written into
 * its values are dropped, and its `valuesFrom` gets the stored values of its accounts. Writes nothing itself.
 */
export async function mutate(
  services: AdmissionServices,
  review: Review,
  options: CallOptions,
): Promise<Verdict> {
  if (review.operation === 'DELETE') return ALLOWED
  const served = await servedBy(services, review.object, options)
  if (!served.ok) {
    return changesValues(review)
      ? refused({ is: 'failed', what: READING, failure: served.failure })
      : allowed({ warnings: [definitionWarning(served.failure)] })
  }
  if (served.value === undefined) return ALLOWED
  const dropped = droppedFrom(served.value)
  const wiring = await wiringOf(services, review, served.value, options)
  return allowed({
    patch: [...dropped.keys(), ...wiring.paths],
    warnings: [...dropped.values(), ...wiring.warnings],
  })
}

/** Passwords in the values, by what takes them out. */
function droppedFrom({ rules, release }: Served): ReadonlyMap<PatchOperation, string> {
  const found = new Map<string, Entry>()
  for (const entry of entriesOf(rules, release)) {
    // Two sources may read one map; an operation on what is gone fails the whole patch (RFC 6902, section 4.2).
    if (entry.hasPassword) found.set(pointerTo(entry), entry)
  }
  return new Map(
    [...found].map(([path, entry]): [PatchOperation, string] => [
      { op: 'remove', path },
      `${fieldOf(entry)}.password is ignored: mint a password instead`,
    ]),
  )
}

const pointerTo = ({ within, key }: Entry): string =>
  ['spec', 'values', ...within.split('.'), String(key), 'password'].map(segmentOf).join('')

/** RFC 6901, section 3. */
const segmentOf = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

interface Wiring {
  readonly paths: readonly PatchOperation[]
  readonly warnings: readonly string[]
}

const UNCHANGED: Wiring = { paths: [], warnings: [] }

async function wiringOf(
  services: AdmissionServices,
  review: Review,
  served: Served,
  options: CallOptions,
): Promise<Wiring> {
  const { release, rules } = served
  const current = valuesFromOf(release)
  if (rules.valuesPath === undefined || current === undefined || !isObject(release.spec)) return UNCHANGED
  const { name } = release.metadata
  if (name === '') return { paths: [], warnings: [UNNAMED] }
  const declared = await resolveDeclared(rules, release)
  // A source that cannot be read is refused, or was wrong before: which accounts there are, nobody knows.
  if (declared.causes.length > 0) return UNCHANGED
  const { accounts } = nameAccounts(declared, name)
  const value = wired(current, await referencesTo(accounts, rules.valuesPath), name)
  const op = own(release.spec, 'valuesFrom') === undefined ? 'add' : 'replace'
  return {
    paths: value === current ? [] : [{ op, path: '/spec/valuesFrom', value }],
    warnings: await missingOf(services, review, served, { accounts, options }),
  }
}

/** Accounts that were there before and have no Secret: those that a write adds get theirs when it is validated. */
async function missingOf(
  services: AdmissionServices,
  { oldObject }: Review,
  { release, rules }: Served,
  { accounts, options }: { readonly accounts: readonly NamedAccount[]; readonly options: CallOptions },
): Promise<readonly string[]> {
  if (oldObject === undefined) return []
  const before = nameAccounts(await resolveDeclared(rules, oldObject), release.metadata.name)
  const known = new Set(before.accounts.map(({ username }) => username))
  const old = accounts.filter(({ username }) => known.has(username))
  const held = await readHolders(services, { release }, old, options)
  return [...held].flatMap(([{ username, secretName }, holder]) =>
    holder.ok && holder.value.is === 'absent'
      ? [
          `user ${JSON.stringify(username)} has no Secret ${JSON.stringify(secretName)}, and Flux waits for it: mint its password, or convert the one it has`,
        ]
      : [],
  )
}

const UNNAMED =
  'spec.valuesFrom does not name the account Secrets, as the name is still to be generated: write the object once more'
