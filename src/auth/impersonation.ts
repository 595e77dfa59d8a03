import type { Access } from '../core/failure.ts'
import type { HeaderLines } from '../core/headers.ts'
import { ok, type Result } from '../core/result.ts'
import type { CallOptions } from '../k8s/kube.ts'
import { isDnsLabel, isDnsSubdomain } from '../k8s/names.ts'
import type { Caller } from './authenticator.ts'
import { withAuthenticated } from './identity.ts'
import { type Wanted, wantedBy } from './impersonation-headers.ts'

/** Fails with `forbidden` unless an access review says yes. */
type Authorize = (caller: Caller, access: Access, options: CallOptions) => Promise<Result<undefined>>

interface ServiceAccount {
  readonly namespace: string
  readonly name: string
}

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]*):([^:]*)$/

/**
 * As whom a caller acts: itself, or whom its impersonation headers name, when the caller may `impersonate` each of the
 * values (`k8s.io/apiserver/pkg/endpoints/filters/impersonation`, the mode without constraints: KEP-5284's verbs grant
 * nothing here). Uid, groups and extra are the impersonated one's alone. Fails with `forbidden` for the
 * first value that the caller may not have, with what was wrong with the headers, or with why a review had no answer.
 *
 * Not for a caller whom a front proxy vouches for: kube-apiserver has impersonated already, and what is left of such
 * headers means nothing.
 */
export async function impersonated(
  caller: Caller,
  headers: HeaderLines,
  authorize: Authorize,
  options: CallOptions = {},
): Promise<Result<Caller>> {
  const wanted = wantedBy(headers)
  if (!wanted.ok) return wanted
  if (wanted.value === undefined) return ok(caller)
  const reviews = accessesOf(wanted.value).map((access) => authorize(caller, access, options))
  const refused = (await Promise.all(reviews)).find((reviewed) => !reviewed.ok)
  return refused ?? ok(callerAs(wanted.value, caller))
}

/** What has to be allowed, in upstream's order, which decides what a refusal names. */
function accessesOf({ username, uid, groups, extra }: Wanted): readonly Access[] {
  return [
    userAccess(username),
    ...(uid === undefined ? [] : [authenticationAccess('uids', uid)]),
    ...groups.map((name) => coreAccess('groups', name)),
    ...[...extra].flatMap(([key, values]) =>
      values.map((value) => ({ ...authenticationAccess('userextras', value), subresource: key })),
    ),
  ]
}

function userAccess(username: string): Access {
  const account = serviceAccountOf(username)
  if (account === undefined) return coreAccess('users', username)
  return { ...coreAccess('serviceaccounts', account.name), namespace: account.namespace }
}

const coreAccess = (resource: string, name: string): Access => ({
  verb: 'impersonate',
  group: '',
  version: 'v1',
  resource,
  name,
})

const authenticationAccess = (resource: string, name: string): Access => ({
  ...coreAccess(resource, name),
  group: 'authentication.k8s.io',
})

/** Undefined for a username that only looks like one (`k8s.io/apiserver/pkg/authentication/serviceaccount`). */
function serviceAccountOf(username: string): ServiceAccount | undefined {
  const [, namespace = '', name = ''] = SERVICE_ACCOUNT.exec(username) ?? []
  return isDnsLabel(namespace) && isDnsSubdomain(name) ? { namespace, name } : undefined
}

/** Nothing of the caller's own goes along but its name, for the record. */
function callerAs({ username, uid, groups, extra }: Wanted, caller: Caller): Caller {
  const account = groups.length === 0 ? serviceAccountOf(username) : undefined
  const own = account === undefined ? groups : groupsOf(account)
  return {
    username,
    uid,
    groups: withAuthenticated(own),
    extra: Object.fromEntries(extra),
    impersonator: caller.username,
  }
}

/** The groups that every ServiceAccount has. A request that names groups has those only. */
const groupsOf = ({ namespace }: ServiceAccount): readonly string[] => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
]
