import type { HelmRelease, KubeEvent } from '../k8s/objects.ts'
import type { Application } from './application.ts'

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

const namespaceOf = ({ metadata }: HelmRelease): string => metadata.namespace ?? ''

const regardingRelease = (release: HelmRelease): Regarding => ({
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  namespace: namespaceOf(release),
  name: release.metadata.name,
  uid: release.metadata.uid,
})
