import { mayBeStored } from '../client/advice.ts'
import type { ClientFailure, Silence } from '../client/client.ts'
import { isUntrusted } from '../core/error-code.ts'
import { visible } from '../core/visible.ts'
import type { Verb } from './flags.ts'

/** How a command ends: a kind of failure each, so that a script knows what to do without reading messages. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  forbidden: 3,
  notFound: 4,
  conflict: 5,
  unknown: 6,
  unavailable: 7,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const EXIT_MEANINGS: readonly (readonly [ExitCode, string])[] = [
  [EXIT.done, 'it is stored'],
  [EXIT.failed, 'refused for another reason, or something is broken; nothing was changed'],
  [
    EXIT.usage,
    'the command line or the kubeconfig is wrong, or nobody would see the password; nothing was sent',
  ],
  [
    EXIT.forbidden,
    'not allowed: who you are, or what you may (401, 403, a plug-in that gives no credentials)',
  ],
  [EXIT.notFound, 'no such account, or the cluster has no such API (404)'],
  [EXIT.conflict, 'it has changed meanwhile, or something is in the way (409); nothing was changed'],
  [EXIT.unknown, 'nobody knows whether it was stored, or the answer was lost: do it again'],
  [EXIT.unavailable, 'not reached, or overloaded (408, 429, 503, 504); nothing was changed: try later'],
]

export interface Outcome {
  readonly code: ExitCode
  /** For standard error. Holds nothing of an answer but the message of a Status. */
  readonly lines: readonly string[]
}

interface Asked {
  readonly verb: Verb
  readonly name: string
  readonly namespace: string
  readonly group: string
  readonly dryRun: boolean
  /** The kubeconfig has a plain `http:` address. */
  readonly isPlain: boolean
}

/** What a failed call means for who asked. Whatever is not certain to have changed nothing is unknown. */
export function outcomeOf(failure: ClientFailure, asked: Asked): Outcome {
  const code = exitCodeOf(failure, asked)
  const what = messageOf(failure, asked)
  const hint = code === EXIT.unknown ? whatNow(asked) : hintFor(failure, asked)
  return { code, lines: hint === undefined ? [what] : [what, hint] }
}

/** After a call that may have been stored: what to do about it. */
export function whatNow({ verb, name }: Pick<Asked, 'verb' | 'name'>): string {
  return verb === 'mint'
    ? `The password of ${name} may have been replaced. Mint again: the newest password is the one that counts.`
    : `The password of ${name} may have been revoked. Revoke again: it does no harm.`
}

function exitCodeOf(failure: ClientFailure, { dryRun }: Asked): ExitCode {
  // Nothing is ever stored in a dry run.
  if (mayBeStored(failure)) return dryRun ? EXIT.unavailable : EXIT.unknown
  return failure.kind === 'silence' ? silentCode(failure) : certainCode(failure)
}

const BY_STATUS: Readonly<Record<number, ExitCode>> = {
  401: EXIT.forbidden,
  403: EXIT.forbidden,
  404: EXIT.notFound,
  408: EXIT.unavailable,
  409: EXIT.conflict,
  429: EXIT.unavailable,
}

/** Of an answer after which it is certain that nothing was stored. */
function certainCode(failure: Exclude<ClientFailure, Silence>): ExitCode {
  const { code } = failure
  const known = BY_STATUS[code]
  if (known !== undefined) return known
  if (failure.kind === 'foreign') return failure.undelivered ? EXIT.unavailable : EXIT.failed
  return code === 503 || code === 504 ? EXIT.unavailable : EXIT.failed
}

/** Why nothing was sent: who asks, what was to be sent, the server, or the way to it. */
function silentCode({ code = '' }: Silence): ExitCode {
  if (code === 'NO_CREDENTIALS') return EXIT.forbidden
  if (code === '' || code.startsWith('ERR_INVALID_')) return EXIT.usage
  return isUntrusted(code) || isTls(code) ? EXIT.failed : EXIT.unavailable
}

/** No handshake came about: the server speaks no TLS, or none that we do. */
const isTls = (code: string): boolean => /^(EPROTO$|ERR_SSL_|ERR_OSSL_)/.test(code)

/** As kubectl words it, where it has words. */
function messageOf(failure: ClientFailure, { group }: Asked): string {
  switch (failure.kind) {
    case 'status':
      return `Error from server (${visible(failure.reason)}): ${visible(failure.message)}`
    case 'silence':
      if (failure.neverSent && isTls(failure.code ?? '')) {
        return `error: no TLS with the server of the kubeconfig (${failure.code}): nothing was sent`
      }
      return failure.code === 'NO_CREDENTIALS'
        ? `error: ${visible(failure.message)}`
        : `error: no answer: ${visible(failure.message)}`
    case 'foreign':
      if (failure.undelivered) return 'error: kube-apiserver did not reach the function; nothing was changed'
      return failure.code === 404
        ? `error: the cluster serves no ${group}/v1alpha1`
        : `error: ${failure.message}`
  }
}

function hintFor(failure: ClientFailure, { verb, namespace, group, isPlain }: Asked): string | undefined {
  if (failure.kind === 'silence') return undefined
  if (failure.kind === 'foreign') {
    if (failure.undelivered || failure.code === 404) {
      return `kubectl get apiservice v1alpha1.${group} says more; --group names another API group.`
    }
    // What Go's server answers to plain HTTP on a TLS port (net/http/server.go).
    return isPlain && failure.code === 400 ? 'Does the server of the kubeconfig want https://?' : undefined
  }
  // In kube-apiserver's words, whatever verb it is (KEP-5284 has several).
  if (failure.code === 403 && failure.message.includes(' cannot impersonate')) {
    return 'RBAC has to let you impersonate them: the verb "impersonate" on users, and on groups and uids as they are named.'
  }
  if (failure.code === 403) {
    return `RBAC has to allow "create" on "credentials/${verb}" in ${group}, as the ClusterRole mintonce:mint does.`
  }
  return failure.code === 404
    ? `kubectl -n ${namespace} get credentials.${group} shows which there are so far.`
    : undefined
}
