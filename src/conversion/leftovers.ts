import { isObject, own, parseJson, textAt } from '../core/json.ts'
import { takesUnreadValues } from '../credentials/release-state.ts'
import { entriesOf } from '../credentials/written.ts'
import type { Declarations } from '../definitions/resolve.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import { type JsonPatchOperation, pointerTo } from '../k8s/conversion-kube.ts'
import type { HelmRelease, StoredSecret } from '../k8s/objects.ts'
import type { Note } from './notes.ts'
import { rotatorOf } from './rotate/index.ts'

/** What `kubectl apply` leaves on an object: the whole of it, passwords in the clear included. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** A password in the clear in the values of a release. */
interface Written {
  readonly username: string
  /** A JSON pointer. */
  readonly path: string
  /** Undefined for what is no text. */
  readonly password: string | undefined
}

/**
 * Those of the places that its sources read, and `users.*.password` where no source says what that map is. One that the
 * schema requires is left out: Helm would refuse the values without it.
 */
export function writtenIn(rules: CredentialRules, release: HelmRelease): readonly Written[] {
  const entries = entriesOf(rules, release)
  const read = entries
    .filter(({ hasPassword }) => hasPassword)
    .map(({ username, within, key }) => writtenAt(release, username, [...within.split('.'), String(key)]))
  const unread = entries.some(({ within }) => within === 'users') ? [] : unreadUsers(release)
  const paths = new Set<string>()
  return [...read, ...unread].filter(({ path }) => !paths.has(path) && paths.add(path))
}

function writtenAt({ spec }: HelmRelease, username: string, within: readonly string[]): Written {
  const place = ['values', ...within, 'password']
  const found = place.reduce<unknown>((parent, key) => childOf(parent, key), spec)
  const password = typeof found === 'string' ? found : undefined
  return { username, path: pointerTo('spec', ...place), password }
}

/** Of a map, or of a list. */
const childOf = (parent: unknown, key: string): unknown =>
  Array.isArray(parent) ? parent[Number(key)] : own(parent, key)

function unreadUsers(release: HelmRelease): readonly Written[] {
  const users = own(own(release.spec, 'values'), 'users')
  const names = isObject(users) ? Object.keys(users) : []
  return names
    .filter((name) => own(own(users, name), 'password') !== undefined)
    .map((name) => writtenAt(release, name, ['users', name]))
}

/**
 * Takes the passwords in the clear of these users out of the values of a release, and no other: what was not converted may
 * stand nowhere else. Empty when there is none.
 */
export const withoutPasswords = (
  rules: CredentialRules,
  release: HelmRelease,
  converted: ReadonlySet<string>,
): readonly JsonPatchOperation[] =>
  writtenIn(rules, release)
    .filter(({ username }) => converted.has(username))
    .map(({ path }) => ({ op: 'remove', path }))

/** Whose passwords stand in the Secret from before, and which of them are still needed. */
export interface Known {
  readonly rules: CredentialRules
  /** Of the application. */
  readonly kind: string
  readonly release: HelmRelease
  readonly declared: Declarations
  /** Tenant accounts that have an account Secret of ours. */
  readonly converted: ReadonlySet<string>
  /**
   * What the passwords of some of them were when their account Secrets were compared with them, as they stood in `data`.
   * The others were minted since, and no password from before counts.
   */
  readonly checked: ReadonlyMap<string, string>
}

export interface KeysLeft {
  /** To be deleted: passwords of tenants, which their account Secrets have replaced. */
  readonly keys: readonly string[]
  /** Nothing stands beside them: the Secret itself is to be deleted. */
  readonly isAll: boolean
  /** Of no account that anybody has named: they stay. */
  readonly unknown: readonly string[]
  /** Usernames of those whose password is another one by now than their account Secret was compared with. */
  readonly changed: readonly string[]
}

/**
 * The keys of tenants in the Secret from before. Those of accounts that could not be converted stay, since nothing else
 * says what their passwords are; so do those of the platform, and those that belong to no account: whoever reads them
 * (an address, another password) is not known here.
 */
export function keysLeft(secret: StoredSecret, known: Known): KeysLeft {
  const { rules, kind, release, declared, converted, checked } = known
  const keyOf = ({ username }: { readonly username: string }) => rules.legacy.key(username)
  const encodedOf = (key: string) => textAt(own(secret, 'data'), key) ?? ''
  const isChanged = (account: { readonly username: string }) => {
    const encoded = encodedOf(keyOf(account))
    return encoded !== '' && (checked.get(account.username) ?? encoded) !== encoded
  }
  const tenants = declared.accounts.filter(({ owner }) => owner === 'tenant')
  const found = tenants.filter(({ username }) => converted.has(username))
  const changed = found.filter(isChanged)
  const replaced = new Set(found.map(keyOf))
  const needed = new Set([...tenants.filter((each) => !found.includes(each)), ...changed].map(keyOf))
  const platform = new Set(declared.accounts.filter(({ owner }) => owner === 'platform').map(keyOf))

  const all = Object.keys(secret.data ?? {})
  const isPlatform = (key: string) => platform.has(key) || rotatorOf(kind, key) !== undefined
  const keys = all.filter((key) => replaced.has(key) && !needed.has(key) && !isPlatform(key))
  return {
    keys,
    isAll: declared.complete && !takesUnreadValues(release) && keys.length === all.length,
    unknown: all.filter((key) => !replaced.has(key) && !needed.has(key) && !isPlatform(key)),
    changed: changed.map(({ username }) => username),
  }
}

/** What stays in the clear, in the Secret as it is now and in the values, though no account that was left out says so. */
export function notesOfKept(known: Known, secret: StoredSecret | undefined): readonly Note[] {
  const { rules, release, declared, converted } = known
  const keys = secret === undefined ? [] : keysLeft(secret, known).unknown
  const isTold = new Set(declared.accounts.map(({ username }) => username))
  const usernames = writtenIn(rules, release)
    .map(({ username }) => username)
    .filter((username) => !converted.has(username) && !isTold.has(username))
  return [
    ...(keys.length === 0 ? [] : [{ is: 'KeysKept', secret: secret?.metadata.name ?? '', keys } as const]),
    ...(usernames.length === 0
      ? []
      : [{ is: 'ValuesKept', release: release.metadata.name, usernames } as const]),
  ]
}

/** The Secret that was read, without these keys and without what `kubectl apply` has kept of them. */
export function withoutKeys(secret: StoredSecret, keys: readonly string[]): StoredSecret {
  const { [LAST_APPLIED]: _applied, ...annotations } = secret.metadata.annotations ?? {}
  return {
    ...secret,
    metadata: { ...secret.metadata, annotations },
    data: Object.fromEntries(Object.entries(secret.data ?? {}).filter(([key]) => !keys.includes(key))),
  }
}

export const hasLastApplied = ({ metadata }: StoredSecret): boolean =>
  textAt(metadata.annotations, LAST_APPLIED) !== undefined

/** Whether `kubectl apply` has left passwords in the clear on the HelmRelease itself. */
export function hasAppliedPasswords(rules: CredentialRules, release: HelmRelease): boolean {
  const applied = parseJson(textAt(release.metadata.annotations, LAST_APPLIED) ?? '')
  const spec = own(applied, 'spec')
  return isObject(spec) && writtenIn(rules, { ...release, spec }).length > 0
}
