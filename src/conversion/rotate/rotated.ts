import { isObject, own, parseJson, textAt } from '../../core/json.ts'
import { encodeData } from '../../core/text.ts'
import type { StoredSecret } from '../../k8s/objects.ts'
import type { Pending, PendingAccount } from './pending.ts'

/**
 * On the Secret that its readers read: by username, which rotation gave it the password that it holds (the UID of the
 * pending Secret, or what an operator writes who has done it by hand). Written together with the password, so that no
 * account is rotated twice.
 */
const ROTATED = 'credentials.cozystack.io/rotated'

/** What is no JSON object says nothing. */
export function rotatedIn({ metadata }: StoredSecret): ReadonlyMap<string, string> {
  const said = parseJson(textAt(metadata.annotations, ROTATED) ?? '')
  const entries = isObject(said) ? Object.entries(said) : []
  return new Map(entries.map(([username, by]) => [username, String(by)]))
}

/** The Secret that was read with other values under these keys, and a mark for each account. */
export function rotatedSecret(
  secret: StoredSecret,
  changed: readonly { readonly username: string; readonly key: string; readonly data: string }[],
  by: string,
): StoredSecret {
  const marks = new Map([...rotatedIn(secret), ...changed.map(({ username }) => [username, by] as const)])
  return {
    ...secret,
    metadata: {
      ...secret.metadata,
      annotations: {
        ...secret.metadata.annotations,
        [ROTATED]: JSON.stringify(Object.fromEntries([...marks].toSorted())),
      },
    },
    data: { ...secret.data, ...Object.fromEntries(changed.map(({ key, data }) => [key, data])) },
  }
}

/** Those that no other rotation has given a password. */
export function missingIn(
  secret: StoredSecret,
  { secret: { metadata }, accounts }: Pending,
): readonly PendingAccount[] {
  const rotated = rotatedIn(secret)
  return accounts.filter(({ username }) => (rotated.get(username) ?? metadata.uid) === metadata.uid)
}

export const holds = (secret: StoredSecret, { username, key, password }: PendingAccount): boolean =>
  textAt(own(secret, 'data'), key) === encodeData(password) && rotatedIn(secret).has(username)
