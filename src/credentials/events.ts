import type { HelmRelease, KubeEvent, StoredSecret } from '../k8s/objects.ts'
import type { Application } from './application.ts'
import type { Warning } from './plan.ts'

type Regarding = KubeEvent['regarding']

/** About an application: what its owner sees in `kubectl describe`. */
export function issuedEvent(
  operation: 'Mint' | 'Revoke',
  application: Application,
  release: HelmRelease,
  { username, by }: { readonly username: string; readonly by: string },
): KubeEvent {
  const done = operation === 'Mint' ? 'issued' : 'revoked'
  return {
    type: 'Normal',
    reason: operation === 'Mint' ? 'CredentialIssued' : 'CredentialRevoked',
    action: operation,
    note: `password of user ${username} ${done} by ${by}`,
    regarding: {
      apiVersion: `${application.group}/v1alpha1`,
      kind: application.kind,
      namespace: namespaceOf(release),
      name: application.name,
      uid: release.metadata.uid,
    },
  }
}

/** A Secret that is not ours holds the name of an account Secret. */
export const foreignEvent = (release: HelmRelease, secret: string, why: string): KubeEvent => ({
  type: 'Warning',
  reason: 'AccountSecretForeign',
  action: 'Refuse',
  note: `Secret ${secret} holds the name of an account Secret and is left alone: ${why}`,
  regarding: regardingRelease(release),
})

/** A password that somebody may know was replaced together with the Secret of an earlier release. */
export const leftoverEvent = (release: HelmRelease, secret: string): KubeEvent => ({
  type: 'Warning',
  reason: 'AccountSecretReplaced',
  action: 'Replace',
  note: `Secret ${secret} of an earlier release or user was replaced; its password, which somebody may know, is void`,
  regarding: regardingRelease(release),
})

/** How many of the others an Event names. */
const NAMED = 3

/**
 * What a sync found and may not mend: said as long as it is so. One for each reason, however many accounts it is about,
 * because each is a write, and every tick says it again.
 */
export function warningEvents(release: HelmRelease, warnings: readonly Warning[]): readonly KubeEvent[] {
  return [...Map.groupBy(warnings, ({ is }) => is).values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const event = warningEvent(release, first)
    return [{ ...event, note: `${event.note}${likewise(others.map(subjectOf))}` }]
  })
}

function likewise(subjects: readonly string[]): string {
  if (subjects.length === 0) return ''
  const unnamed = subjects.length - NAMED
  const rest = unnamed > 0 ? ` and ${unnamed} more` : ''
  return `; likewise: ${subjects.slice(0, NAMED).join('; ')}${rest}`
}

function subjectOf(warning: Warning): string {
  switch (warning.is) {
    case 'unwired':
      return 'spec.valuesFrom'
    case 'refused':
      return warning.message
    case 'kept':
      return warning.secretName
    default:
      return warning.account.secretName
  }
}

function warningEvent(release: HelmRelease, warning: Warning): KubeEvent {
  const standing = {
    type: 'Warning',
    action: 'Sync',
    regarding: regardingRelease(release),
    isStanding: true,
  } as const
  switch (warning.is) {
    case 'missing':
      return {
        ...standing,
        reason: 'AccountSecretMissing',
        note: `user ${warning.account.username} has no Secret ${warning.account.secretName}, and the release has been deployed: mint its password, or convert the one it has`,
      }
    case 'leftover':
      return {
        ...standing,
        reason: 'AccountSecretLeftover',
        note: `Secret ${warning.account.secretName} is of an earlier release or user and is left alone: mint or revoke the password of user ${warning.account.username} to replace it, or adopt it`,
      }
    case 'foreign':
      return { ...foreignEvent(release, warning.account.secretName, warning.why), isStanding: true }
    case 'unsound':
      return {
        ...standing,
        reason: 'AccountSecretUnsound',
        note: `Secret ${warning.account.secretName} holds a value that the engine would not take as a verifier: mint the password of user ${warning.account.username} again`,
      }
    case 'kept':
      return {
        ...standing,
        reason: 'AccountSecretKept',
        note: `Secret ${warning.secretName} is of an account that is no longer declared, and is kept: ${warning.why}; delete it when the user is gone from the engine`,
      }
    case 'unwired':
      return {
        ...standing,
        reason: 'ValuesNotWired',
        note: 'spec.valuesFrom does not name the account Secrets of this release: the chart does not get them until the release is written through the admission webhook again',
      }
    case 'refused':
      return { ...standing, reason: 'AccountRefused', note: warning.message }
  }
}

/** A Secret of a release that is gone, whose password somebody may know: about itself, there being nothing else. */
export const orphanEvent = ({ metadata }: StoredSecret): KubeEvent => ({
  type: 'Warning',
  reason: 'AccountSecretOrphaned',
  action: 'Sweep',
  note: `Secret ${metadata.name} is of a release that is gone and is left alone, as somebody may know its password: adopt it for the next release of that name, or delete it`,
  isStanding: true,
  regarding: regardingSecret(metadata),
})

export const regardingSecret = ({ namespace = '', name, uid }: StoredSecret['metadata']): Regarding => ({
  apiVersion: 'v1',
  kind: 'Secret',
  namespace,
  name,
  uid,
})

const namespaceOf = ({ metadata }: HelmRelease): string => metadata.namespace ?? ''

export const regardingRelease = (release: HelmRelease): Regarding => ({
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  namespace: namespaceOf(release),
  name: release.metadata.name,
  uid: release.metadata.uid,
})
