import { encodeData } from '../../src/core/text.ts'
import type { AccountSecretOf } from '../../src/credentials/account-secret.ts'
import type { Application } from '../../src/credentials/application.ts'
import type { State, Target } from '../../src/credentials/state.ts'
import type { CredentialRules } from '../../src/definitions/rules.ts'
import type { Format } from '../../src/formats/format.ts'
import type { HelmRelease, ObjectMeta, StoredSecret } from '../../src/k8s/objects.ts'

/** The Postgres `orders` of `tenant-acme` with its user `web`, as the domain sees it. */

export const NAMESPACE = 'tenant-acme'
export const CREDENTIAL = 'postgres-orders.web'
export const SECRET = 'postgres-orders.web.account'
export const RELEASE_UID = 'release-uid-1'
/** By which rules its account is declared. */
export const DECLARED_BY = '00000000000000f1'
export const OTHER_RELEASE_UID = 'release-uid-0'
/** 2026-10-02T09:14:07.123Z. */
export const NOW = Date.UTC(2026, 9, 2, 9, 14, 7, 123)
export const NOW_TEXT = '2026-10-02T09:14:07Z'

export const target: Target = { namespace: NAMESPACE, name: { release: 'postgres-orders', account: 'web' } }

export const application: Application = { group: 'apps.cozystack.io', kind: 'Postgres', name: 'orders' }

export const applicationLabels = {
  'apps.cozystack.io/application.group': 'apps.cozystack.io',
  'apps.cozystack.io/application.kind': 'Postgres',
  'apps.cozystack.io/application.name': 'orders',
} as const

export const release: HelmRelease = {
  metadata: { name: 'postgres-orders', namespace: NAMESPACE, uid: RELEASE_UID, labels: applicationLabels },
  spec: { values: { users: { web: {} } } },
}

/** What an account Secret is made for. */
export const accountSecretOf: AccountSecretOf = {
  name: SECRET,
  namespace: NAMESPACE,
  username: 'web',
  application,
  release,
  secretLabels: { 'cnpg.io/reload': 'true' },
  declaredBy: DECLARED_BY,
}

export const ownerReference = (uid = RELEASE_UID) => ({
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  name: 'postgres-orders',
  uid,
  controller: false,
  blockOwnerDeletion: false,
})

/** A format whose value a test can turn back: the password reversed. */
export const reversing: Format = {
  name: 'reversing',
  storesPlaintext: false,
  canonical: /^reversed:[A-Za-z0-9]{32}$/,
  derive: async ({ password }) => `reversed:${[...password].reverse().join('')}`,
}

export const rules: CredentialRules = {
  definition: 'postgres',
  plural: 'postgreses',
  format: reversing,
  secretLabels: { 'cnpg.io/reload': 'true' },
  valuesPath: undefined,
  legacy: { secretName: (name) => `${name}-credentials`, key: (username) => username },
  sources: [],
  schema: undefined,
  declaredBy: DECLARED_BY,
}

export const stateWith = (secret: StoredSecret | undefined, more: Partial<State> = {}): State => ({
  application,
  release,
  rules,
  username: 'web',
  secret,
  ...more,
})

interface SecretChange extends Partial<Omit<StoredSecret, 'metadata'>> {
  readonly metadata?: Partial<ObjectMeta & { uid: string; resourceVersion: string }>
}

/** The account Secret of `web` as a mint of `jane@example.org` left it, with these fields changed. */
export function accountSecret({ metadata, ...change }: SecretChange = {}): StoredSecret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/basic-auth',
    data: { username: encodeData('web'), password: encodeData('reversed:old') },
    ...change,
    metadata: {
      name: SECRET,
      namespace: NAMESPACE,
      uid: 'secret-uid-1',
      resourceVersion: '10',
      creationTimestamp: '2026-10-01T00:00:00Z',
      labels: { 'credentials.cozystack.io/account': 'true', ...applicationLabels },
      annotations: accountAnnotations(),
      ownerReferences: [ownerReference()],
      ...metadata,
    },
  }
}

export const mintedByJane = { operation: 'Mint', at: '2026-10-01T08:00:00Z', by: 'jane@example.org' } as const

export const accountAnnotations = (change: Readonly<Record<string, string>> = {}) => ({
  'credentials.cozystack.io/origin': 'Minted',
  'credentials.cozystack.io/history': JSON.stringify([mintedByJane]),
  'credentials.cozystack.io/release-uid': RELEASE_UID,
  'credentials.cozystack.io/declared-by': DECLARED_BY,
  ...change,
})
