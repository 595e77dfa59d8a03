import { own, textAt } from '../core/json.ts'
import { ok, type Result } from '../core/result.ts'
import { encodeData, fromBase64, fromUtf8 } from '../core/text.ts'
import { matches } from '../formats/matches.ts'
import { isDnsSubdomain } from '../k8s/names.ts'
import type { StoredSecret } from '../k8s/objects.ts'
import type { Convertible, ConvertOptions, ConvertServices } from './convertible.ts'
import { writtenIn } from './leftovers.ts'

/** The Secret with the passwords from before; undefined when it is not there. Fails as reads do. */
export async function readBefore(
  { kube }: Pick<ConvertServices, 'kube'>,
  { release, rules }: Pick<Convertible, 'release' | 'rules'>,
  { signal }: Pick<ConvertOptions, 'signal'>,
): Promise<Result<StoredSecret | undefined>> {
  const { namespace = '', name } = release.metadata
  const secretName = rules.legacy.secretName(name)
  if (!isDnsSubdomain(secretName)) return ok(undefined)
  return kube.getSecret(namespace, secretName, signal === undefined ? {} : { signal })
}

/** The password of a user in that Secret, as it stands in `data`; empty when there is none. */
export const encodedIn = (
  { rules }: Pick<Convertible, 'rules'>,
  before: StoredSecret | undefined,
  username: string,
): string => textAt(own(before, 'data'), rules.legacy.key(username)) ?? ''

/** Whether the values of the release have a password in the clear of this user. */
export const isInValues = ({ rules, release }: Convertible, username: string): boolean =>
  writtenIn(rules, release).some((each) => each.username === username)

/**
 * Where another password than that of a stored value stands for an account: in the Secret, or in the values where the
 * Secret has none. Undefined when it is the same, and where neither has any: then nothing is there to be lost.
 */
export async function otherPasswordIn(
  of: Convertible,
  before: StoredSecret | undefined,
  { username, stored }: { readonly username: string; readonly stored: string },
): Promise<'Secret' | 'values' | undefined> {
  const encoded = encodedIn(of, before, username)
  const inValues = writtenIn(of.rules, of.release).find((each) => each.username === username)
  const plain = encoded === '' ? encodeData(inValues?.password ?? '') : encoded
  if (plain === '') return undefined
  const bytes = fromBase64(plain)
  const password = bytes === undefined ? undefined : fromUtf8(bytes)
  const isSame = password !== undefined && (await matches(of.rules.format, stored, { username, password }))
  if (isSame) return undefined
  return encoded === '' ? 'values' : 'Secret'
}
