import { setTimeout as sleep } from 'node:timers/promises'
import { inTurns } from '../src/core/in-turns.ts'
import { scramSha256 } from '../src/formats/scram-sha-256.ts'
import { GROUP } from '../test/contract/backend.ts'
import { releaseOf, type Tenant } from '../test/contract/tenant.ts'
import { timed } from './figures.ts'
import { DEFINITIONS, type InStepCluster } from './in-step-cluster.ts'
import { secretOf as adopted } from './in-step-sweep.ts'

/** Something that is done in each round. */
export interface Row {
  readonly name: string
  /** Milliseconds of what it is about; what is put in order before and after does not count. */
  readonly run: () => Promise<number>
  readonly samples: number[]
  /** What it is compared with. */
  readonly beside?: Row
}

export interface Group {
  readonly title: string
  readonly rows: readonly Row[]
}

/**
 * What begins after an answer is over before anything else is measured: an adoption. And a list makes no other of its
 * kind wait: the API server asks etcd every 100 ms at most whether it knows all (`progressRequestPeriod` in
 * `k8s.io/apiserver/pkg/storage/cacher/progress`).
 */
const QUIET_MS = 200
const RELEASE = 'postgres-orders'
const AT_ONCE = 8
const releasesOf = ({ namespace }: Tenant) =>
  `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases`
const secretsOf = ({ namespace }: Tenant) => `/api/v1/namespaces/${namespace}/secrets`
const ACCOUNTS = 'labelSelector=credentials.cozystack.io%2Faccount%3Dtrue&limit=500'

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `u${index}`)
const usersOf = (count: number) => ({
  users: Object.fromEntries(numbered(count).map((user) => [user, {}])),
})

const row = (name: string, run: Row['run'], beside?: Row): Row => ({
  name,
  run,
  samples: [],
  ...(beside && { beside }),
})

/** Two accounts, adopted: there is nothing to be done for them. */
export async function prepareUpdates({ bare, empty, reading, ours, send }: InStepCluster): Promise<void> {
  for (const tenant of [bare, empty, reading, ours]) {
    const release = await send('POST', releasesOf(tenant), releaseOf('Postgres', 'orders', usersOf(2)))
    if (tenant !== reading) continue
    // The function makes its own: who makes the same reads must find the same.
    const { metadata } = release as { readonly metadata: { readonly name: string; readonly uid: string } }
    for (const user of numbered(2)) await send('POST', secretsOf(tenant), adopted(metadata, 'orders', user))
  }
}

export function updates({ bare, empty, reading, ours, send }: InStepCluster): readonly Group[] {
  let times = 0
  const change = (tenant: Tenant, changed: (time: string) => object) => async () => {
    times += 1
    const ms = await timed(() => send('PATCH', `${releasesOf(tenant)}/${RELEASE}`, changed(String(times))))
    await sleep(QUIET_MS)
    return ms
  }
  const groupOf = (title: string, changed: (time: string) => object): Group => {
    const none = row('without webhooks', change(bare, changed))
    const allowing = row('an empty webhook server', change(empty, changed), none)
    const reads = row('one that makes the reads and nothing else', change(reading, changed), none)
    return {
      title,
      rows: [none, allowing, reads, row('mintonce', change(ours, changed), allowing)],
    }
  }
  return [
    groupOf('an update of an annotation', (touched) => ({ metadata: { annotations: { touched } } })),
    groupOf('an update of values that touches no account', (size) => ({ spec: { values: { size } } })),
  ]
}

interface Named {
  readonly metadata: { readonly name: string }
}

/** Creates with as many accounts, of which nothing is left. */
export function creates({ bare, ours, send }: InStepCluster, count: number): Group {
  const release = releaseOf('Postgres', 'made', usersOf(count))
  /** The webhooks do not stop a create when nobody answers them: one without its Secrets would be a quick one. */
  const checkMade = async (tenant: Tenant) => {
    const { items } = (await send('GET', secretsOf(tenant))) as { readonly items: readonly Named[] }
    const found = items.filter(({ metadata }) => metadata.name.startsWith('postgres-made.')).length
    if (found !== count) throw new Error(`a create has made ${found} of ${count} account Secrets`)
  }
  const made = (tenant: Tenant, work: () => Promise<unknown>) => async () => {
    const ms = await timed(work)
    await checkMade(tenant)
    await send('DELETE', `${releasesOf(tenant)}/postgres-made`)
    await send('DELETE', `${secretsOf(tenant)}?labelSelector=bench%3Dmade`)
    await send('DELETE', `${secretsOf(tenant)}?labelSelector=apps.cozystack.io%2Fapplication.name%3Dmade`)
    await sleep(QUIET_MS)
    return ms
  }
  const raw = (value: () => Promise<string>) => async () => {
    await inTurns(numbered(count), AT_ONCE, async (user) => {
      await send('POST', secretsOf(bare), secretOf(user, await value()))
    })
    await send('POST', releasesOf(bare), release)
  }
  const floor = row(
    'the same writes, raw',
    made(
      bare,
      raw(async () => 'x'.repeat(133)),
    ),
  )
  return {
    title: `a create with ${count} accounts`,
    rows: [
      floor,
      row('the same writes and hashes', made(bare, raw(hashed)), floor),
      row(
        'mintonce',
        made(ours, () => send('POST', releasesOf(ours), release)),
        floor,
      ),
    ],
  }
}

const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length))
const hashed = () => scramSha256.derive({ username: 'web', password: 'bench' }, { randomBytes })

const secretOf = (user: string, password: string) => ({
  metadata: { name: `postgres-made.${user}.account`, labels: { bench: 'made' } },
  type: 'kubernetes.io/basic-auth',
  stringData: { username: user, password },
})

/**
 * A sync with nothing to do. Somebody always writes something in a cluster: a list waits then until the API server knows
 * that nothing of its kind was written.
 */
export function syncs({ bare, ours, send, call, sendAsFunction }: InStepCluster): Group {
  const release = `${releasesOf(ours)}/${RELEASE}`
  const reads = async () => {
    await sendAsFunction('GET', `${secretsOf(ours)}?${ACCOUNTS}`)
    await Promise.all([sendAsFunction('GET', release), sendAsFunction('GET', DEFINITIONS)])
  }
  const review = (attributes: object) =>
    sendAsFunction('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: 'jane', resourceAttributes: { namespace: ours.namespace, ...attributes } },
    })
  const all = async () => {
    await sendAsFunction('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: ours.tokens.admin, audiences: ['mintonce'] },
    })
    await Promise.all([
      review({ verb: 'create', group: GROUP, resource: 'helmreleases', subresource: 'sync' }),
      sendAsFunction('GET', release),
    ])
    await review({ verb: 'update', group: 'apps.cozystack.io', resource: 'postgreses' })
    await reads()
  }
  let times = 0
  const afterAWrite = (work: () => Promise<unknown>) => async () => {
    times += 1
    const annotations = { touched: String(times) }
    await send('PATCH', `${releasesOf(bare)}/${RELEASE}`, { metadata: { annotations } })
    await sleep(QUIET_MS)
    return timed(work)
  }
  const path = `/apis/${GROUP}/v1alpha1/namespaces/${ours.namespace}/helmreleases/${RELEASE}/sync`
  const floor = row('all its calls, raw', afterAWrite(all))
  return {
    title: 'a sync with nothing to do, by a call',
    rows: [
      row('the three reads of a sync, raw', afterAWrite(reads), floor),
      floor,
      row(
        'mintonce',
        afterAWrite(() => call(path)),
        floor,
      ),
    ],
  }
}
