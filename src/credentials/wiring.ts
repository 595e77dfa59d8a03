import { isObject, isSameJson, own, textAt } from '../core/json.ts'
import { utf8 } from '../core/text.ts'
import { toHex } from '../formats/hex.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import type { NamedAccount } from './declared.ts'

/** One entry of a HelmRelease's `spec.valuesFrom` (`helm.toolkit.fluxcd.io/v2`), as we write it. Never `optional`. */
export interface ValuesReference {
  readonly kind: 'Secret'
  readonly name: string
  readonly valuesKey: 'password'
  readonly targetPath: string
}

/**
 * The entries by which the stored values of these accounts reach the chart, in the order of the accounts' Secrets. The
 * username is hashed: in a `targetPath` its dots, commas and brackets would mean something (`helm --set`).
 */
export async function referencesTo(
  accounts: readonly NamedAccount[],
  valuesPath: string,
): Promise<readonly ValuesReference[]> {
  const references = await Promise.all(
    accounts.map(
      async ({ username, secretName }): Promise<ValuesReference> => ({
        kind: 'Secret',
        name: secretName,
        valuesKey: 'password',
        targetPath: `${valuesPath}.u${await sha256Hex(username)}`,
      }),
    ),
  )
  return references.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** `spec.valuesFrom` of a release; undefined when it is no list. */
export function valuesFromOf({ spec }: Pick<HelmRelease, 'spec'>): readonly unknown[] | undefined {
  const references = own(spec, 'valuesFrom') ?? []
  return Array.isArray(references) ? references : undefined
}

/**
 * A `valuesFrom` in which ours are exactly these: entries of others stay where they are, in their order, and so do
 * ours that are right; the missing ones come last. The very list that was given when nothing is to be changed.
 */
export function wired(
  current: readonly unknown[],
  wanted: readonly ValuesReference[],
  release: string,
): readonly unknown[] {
  const missing = new Map(wanted.map((each) => [each.name, each]))
  const kept = current.filter((entry) => {
    if (!isOurs(entry, release)) return true
    const name = textAt(entry, 'name') ?? ''
    // The first that is right stays; a second one is too many.
    return isSameJson(missing.get(name), entry) && missing.delete(name)
  })
  return missing.size === 0 && kept.length === current.length ? current : [...kept, ...missing.values()]
}

/** What is said about entries of somebody else that give way to ours: one for a Secret, however it names it. */
export function strangersAmong(
  current: readonly unknown[],
  next: readonly unknown[],
  valuesPath: string,
): readonly string[] {
  const lost = current.filter((entry) => !next.includes(entry) && !looksLikeOurs(entry, valuesPath))
  return lost.map(
    (entry) =>
      `spec.valuesFrom: the entry for Secret ${JSON.stringify(textAt(entry, 'name'))} is left out: entries for account Secrets are made from the users`,
  )
}

/** As we write them. */
const looksLikeOurs = (entry: unknown, valuesPath: string): boolean =>
  isObject(entry) &&
  Object.keys(entry).length === 4 &&
  own(entry, 'valuesKey') === 'password' &&
  textAt(entry, 'targetPath')?.startsWith(`${valuesPath}.u`) === true

/** A reference to an account Secret of this release: nobody else writes such. */
function isOurs(entry: unknown, release: string): boolean {
  const name = textAt(entry, 'name')
  return (
    isObject(entry) &&
    textAt(entry, 'kind') === 'Secret' &&
    name?.startsWith(`${release}.`) === true &&
    name.endsWith('.account')
  )
}

const sha256Hex = async (text: string): Promise<string> =>
  toHex(await crypto.subtle.digest('SHA-256', utf8(text)))
