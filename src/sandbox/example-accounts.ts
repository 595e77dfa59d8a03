import type { Deps, Fetch } from '../core/deps.ts'
import { textAt } from '../core/json.ts'
import { encodeData, toBase64, toTimestamp } from '../core/text.ts'
import { TENANT } from './example.ts'

interface SeedOptions extends Pick<Deps, 'now' | 'randomBytes'> {
  /** The stored value of a password in a format of the example's definitions. */
  readonly derive: (format: string, username: string, password: string) => Promise<string>
}

interface Account {
  readonly kind: string
  readonly application: string
  readonly username: string
  readonly format: string
  readonly labels?: Readonly<Record<string, string>>
}

/** All but `report` of the Postgres: its Secret is lost, and a mint makes a new one. */
const ACCOUNTS: readonly Account[] = [
  {
    kind: 'Postgres',
    application: 'orders',
    username: 'web',
    format: 'scram-sha-256',
    labels: { 'cnpg.io/reload': 'true' },
  },
  {
    kind: 'MariaDB',
    application: 'shop',
    username: 'app',
    format: 'mysql-native',
    labels: { 'k8s.mariadb.com/watch': '' },
  },
  {
    kind: 'ClickHouse',
    application: 'events',
    username: 'etl',
    format: 'sha256',
    labels: { 'reconcile.fluxcd.io/watch': 'Enabled' },
  },
  { kind: 'Redis', application: 'cache', username: 'default', format: 'plaintext' },
]

/**
 * Gives the example tenant the account Secrets that it has before anybody mints: origin `NotIssued`, each with a random
 * password that is thrown away. `admin` is an administrator's way to a cluster that holds the example. Throws when the
 * cluster refuses.
 */
export async function seedExampleAccounts(admin: Fetch, options: SeedOptions): Promise<void> {
  for (const account of ACCOUNTS) {
    const release = `${account.kind.toLowerCase()}-${account.application}`
    const found = await send(
      admin,
      'GET',
      `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${TENANT}/helmreleases/${release}`,
    )
    const uid = textAt(found, 'metadata', 'uid') ?? ''
    const password = toBase64(options.randomBytes(24))
    const stored = await options.derive(account.format, account.username, password)
    const secret = secretOf(account, { release, uid, stored, at: toTimestamp(options.now()) })
    await send(admin, 'POST', `/api/v1/namespaces/${TENANT}/secrets`, secret)
  }
}

async function send(admin: Fetch, method: string, path: string, body?: object): Promise<unknown> {
  const request = new Request(`https://kubernetes.default.svc${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
  })
  const response = await admin(request)
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`)
  return response.json()
}

interface Seed {
  readonly release: string
  readonly uid: string
  readonly stored: string
  /** RFC 3339. */
  readonly at: string
}

function secretOf(account: Account, { release, uid, stored, at }: Seed): object {
  const { kind, application, username, labels } = account
  const by = 'system:serviceaccount:mintonce:mintonce'
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/basic-auth',
    metadata: {
      name: `${release}.${username}.account`,
      namespace: TENANT,
      labels: {
        'credentials.cozystack.io/account': 'true',
        'apps.cozystack.io/application.group': 'apps.cozystack.io',
        'apps.cozystack.io/application.kind': kind,
        'apps.cozystack.io/application.name': application,
        ...labels,
      },
      annotations: {
        'credentials.cozystack.io/origin': 'NotIssued',
        'credentials.cozystack.io/history': JSON.stringify([{ operation: 'Create', at, by }]),
        'credentials.cozystack.io/release-uid': uid,
      },
      ownerReferences: [
        {
          apiVersion: 'helm.toolkit.fluxcd.io/v2',
          kind: 'HelmRelease',
          name: release,
          uid,
          controller: false,
          blockOwnerDeletion: false,
        },
      ],
    },
    data: { username: encodeData(username), password: encodeData(stored) },
  }
}
