import { isObject, own } from '../core/json.ts'
import type { HeaderLists } from './node-https.ts'

/** Whom the API server shall take the caller for, when RBAC lets him (the verb `impersonate`). */
export interface Impersonation {
  readonly user: string
  readonly groups?: readonly string[]
  readonly uid?: string
  readonly extra?: Extra
}

type Extra = Readonly<Record<string, readonly string[]>>

/**
 * What a user of a kubeconfig says about it (`as`, `as-groups`, `as-uid`, `as-user-extra`:
 * k8s.io/client-go/tools/clientcmd/api/v1/types.go), with what was asked for besides: that counts where it is not empty, as
 * for kubectl (clientcmd/merge.go). Undefined: nobody. Throws an Error that may be shown: a part that was dropped would be
 * somebody else than the file says.
 */
export function impersonationOf(user: unknown, asked: Impersonation | undefined): Impersonation | undefined {
  const groups = asked?.groups?.length ? asked.groups : listAt(user, 'as-groups')
  const uid = asked?.uid || textOrNothing(user, 'as-uid')
  const extra = { ...extraOf(user), ...asked?.extra }
  const name = asked?.user || textOrNothing(user, 'as')
  if (name !== undefined) return { user: name, groups, extra, ...(uid === undefined ? {} : { uid }) }
  if (groups.length === 0 && uid === undefined && Object.keys(extra).length === 0) return undefined
  throw new Error('the user of the kubeconfig has as-groups, as-uid or as-user-extra without as')
}

function textOrNothing(user: unknown, field: string): string | undefined {
  const value = own(user, field) ?? ''
  if (isLine(value)) return value || undefined
  throw wrong(field)
}

function listAt(parent: unknown, key: string, field = key): readonly string[] {
  const value = own(parent, key) ?? []
  if (Array.isArray(value) && value.every(isLine)) return value
  throw wrong(field)
}

function extraOf(user: unknown): Extra {
  const field = 'as-user-extra'
  const value = own(user, field) ?? {}
  if (!isObject(value)) throw wrong(field)
  return Object.fromEntries(Object.keys(value).map((key) => [key, listAt(value, key, field)]))
}

/** Nothing that ends a header's line, and not just spaces, which are no value at all (RFC 9110, section 5.5). */
const isLine = (value: unknown): value is string => typeof value === 'string' && !/\p{Cc}|^\s+$/u.test(value)

const wrong = (field: string): Error =>
  new Error(`${field} of the user of the kubeconfig is not as it must be`)

/** A line for each group, and bytes of UTF-8, as client-go sends them (k8s.io/client-go/transport/round_trippers.go). */
export function impersonationHeaders({ user, groups = [], uid, extra = {} }: Impersonation): HeaderLists {
  const headers = new Map<string, string[]>([['impersonate-user', [asBytes(user)]]])
  if (groups.length > 0) headers.set('impersonate-group', groups.map(asBytes))
  if (uid !== undefined) headers.set('impersonate-uid', [asBytes(uid)])
  for (const [key, values] of Object.entries(extra)) {
    const name = `impersonate-extra-${tokenOf(key)}`
    if (values.length > 0) headers.set(name, [...(headers.get(name) ?? []), ...values.map(asBytes)])
  }
  return Object.fromEntries(headers)
}

/** `node:http` writes a character of a header as one byte. */
const asBytes = (text: string): string => Buffer.from(text).toString('latin1')

/** In lower case, as the API server reads it, and with a `%` for each byte that no header's name may have (RFC 9110, section 5.6.2). */
const tokenOf = (key: string): string =>
  [...Buffer.from(key.toLowerCase())]
    .map((byte) => {
      const character = String.fromCharCode(byte)
      return /[\w!#$&'*+\-.^`|~]/.test(character) ? character : `%${byte.toString(16).padStart(2, '0')}`
    })
    .join('')
