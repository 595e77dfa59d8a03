import { isSameJson, own } from '../core/json.ts'
import type { Entry } from '../definitions/rules.ts'
import type { CallOptions, Kube } from '../k8s/kube.ts'
import { isDnsSubdomain } from '../k8s/names.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import type { Holder } from './account-secret.ts'
import type { Served } from './admit-served.ts'
import type { NamedAccount } from './declared.ts'
import { readHolders } from './holders.ts'
import { accountNameOf, secretNameOf } from './naming.ts'
import type { PatchOperation, Review } from './verdict.ts'
import { entriesOf, fieldOf } from './written.ts'

/** What becomes of the passwords in the values of a release. */
export interface InlinePasswords {
  readonly patch: readonly PatchOperation[]
  readonly warnings: readonly string[]
}

interface Services {
  readonly kube: Pick<Kube, 'getSecret' | 'listSecrets'>
}

/**
 * A password that a write brings is dropped. One that was there before is what works as long as the account has no
 * Secret of its own: then it stays, and is not changed either. What cannot be read counts as no Secret.
 */
export async function inlinePasswords(
  services: Services,
  { oldObject }: Pick<Review, 'oldObject'>,
  { rules, release }: Served,
  options: CallOptions,
): Promise<InlinePasswords> {
  const found = new Map<string, Entry>()
  for (const entry of entriesOf(rules, release)) {
    // Two sources may read one map; an operation on what is gone fails the whole patch (RFC 6902, section 4.2).
    if (entry.hasPassword) found.set(pointerTo(entry), entry)
  }
  const before = oldObject === undefined ? NOTHING : passwordsBefore(entriesOf(rules, oldObject), oldObject)
  const old = [...found.values()].filter((entry) => before.has(accountOf(entry)))
  const converted = await convertedOf(services, release, old, options)
  const outcomes = [...found].map(([path, entry]) => {
    const keeps = before.has(accountOf(entry)) && !converted.has(entry.username)
    return keeps ? kept(path, entry, release, before.get(accountOf(entry))) : dropped(path, entry)
  })
  return {
    patch: outcomes.flatMap(({ patch }) => patch),
    warnings: outcomes.map(({ warning }) => warning),
  }
}

const NOTHING: ReadonlyMap<string, unknown> = new Map()

/** Entries of a list move. */
const accountOf = ({ within, username }: Entry): string => JSON.stringify([within, username])

const passwordsBefore = (entries: readonly Entry[], release: HelmRelease): ReadonlyMap<string, unknown> =>
  new Map(
    entries
      .filter(({ hasPassword }) => hasPassword)
      .map((entry) => [accountOf(entry), passwordAt(entry, release)]),
  )

function passwordAt({ within, key }: Entry, { spec }: HelmRelease): unknown {
  const entries = within.split('.').reduce<unknown>((parent, name) => own(parent, name), own(spec, 'values'))
  const entry = Array.isArray(entries) ? entries[Number(key)] : own(entries, String(key))
  return own(entry, 'password')
}

/** The usernames of these entries that have an account Secret of this release. */
async function convertedOf(
  services: Services,
  release: HelmRelease,
  entries: readonly Entry[],
  options: CallOptions,
): Promise<ReadonlySet<string>> {
  const accounts = [...new Set(entries.map(({ username }) => username))].flatMap(
    (username): readonly NamedAccount[] => {
      const name = { release: release.metadata.name, account: accountNameOf(username) }
      const secretName = secretNameOf(name)
      return isDnsSubdomain(secretName) ? [{ username, name, secretName }] : []
    },
  )
  const held = await readHolders(services, { release }, accounts, options)
  return new Set(
    [...held].flatMap(([{ username }, holder]) => (holder.ok && isLasting(holder.value) ? [username] : [])),
  )
}

/** One that is being deleted is as good as gone. */
const isLasting = (holder: Holder): boolean =>
  holder.is === 'ours' && holder.secret.metadata.deletionTimestamp === undefined

interface Outcome {
  readonly patch: readonly PatchOperation[]
  readonly warning: string
}

const dropped = (path: string, entry: Entry): Outcome => ({
  patch: [{ op: 'remove', path }],
  warning: `${fieldOf(entry)}.password is ignored: mint a password instead`,
})

/** Also one that is written over it is not taken: then neither would work. */
function kept(path: string, entry: Entry, release: HelmRelease, value: unknown): Outcome {
  const isSame = isSameJson(passwordAt(entry, release), value)
  return {
    patch: isSame ? [] : [{ op: 'replace', path, value }],
    warning: `${fieldOf(entry)}.password ${isSame ? 'is kept' : 'keeps what it was'} until the account is converted: mint a password instead`,
  }
}

const pointerTo = ({ within, key }: Entry): string =>
  ['spec', 'values', ...within.split('.'), String(key), 'password'].map(segmentOf).join('')

/** RFC 6901, section 3. */
const segmentOf = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
