import { type SyncOutcome, type SyncReport, type SyncServices, sync } from '../../src/credentials/sync.ts'
import { parseRules } from '../../src/definitions/parse.ts'
import type { Kube } from '../../src/k8s/kube.ts'
import type { Anything } from '../contract/kube.ts'
import { BY, type SyncCluster, syncCluster, TENANT } from './sync-cluster.ts'

type Cluster = Pick<SyncCluster, 'admin' | 'services' | 'way' | 'events' | 'logged' | 'pass'>

/** A Postgres `orders` in the namespace of a cluster, whose account Secrets a test puts there and looks at. */
export interface Place extends Cluster {
  /** Of the release `postgres-orders`; throws what failed. */
  readonly sync: () => Promise<SyncReport>
  readonly outcome: (release?: string) => Promise<SyncOutcome>
  /** Creates the release with these values; `landed` as after an install by Flux. */
  readonly orders: (
    values: unknown,
    more?: { readonly spec?: object; readonly metadata?: object },
  ) => Promise<Anything>
  readonly changeRelease: (change: (release: Anything) => void) => Promise<Anything>
  /** What Flux writes when it has dealt with the release as it is now, with these fields changed. */
  readonly deployed: (more?: object) => Promise<void>
  /** Puts a Secret at the name of this user's, as this project would have left it but for the changes. */
  readonly put: (account: string, change?: SecretChange) => Promise<Anything>
  readonly secret: (account: string) => Promise<Anything>
  readonly changeSecret: (account: string, change: (secret: Anything) => void) => Promise<Anything>
  /** All Secrets of the namespace as they are stored. */
  readonly secrets: () => Promise<readonly Anything[]>
  /** `POST secrets/postgres-orders.web.account`: what was written through the function's own way, in order. */
  readonly writes: () => readonly string[]
  /** What was said, by reason, in order. */
  readonly reasons: () => readonly string[]
}

/** The same in a sandbox. */
export interface SyncPlace extends Place, Pick<SyncCluster, 'sandbox'> {}

interface SecretChange {
  readonly username?: string
  readonly origin?: string
  /** The UIDs that the two marks name; null for no such mark. The release's own by default. */
  readonly owner?: string | null
  readonly annotation?: string | null
  /** By which rules it was declared; null for one that does not say. By those of the definition as it is by default. */
  readonly declaredBy?: string | null
  readonly value?: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
  readonly more?: object
  readonly finalizers?: readonly string[]
}

export const RELEASE = 'postgres-orders'
export const RELEASES = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${TENANT}/helmreleases`
export const DEFINITION = '/apis/cozystack.io/v1alpha1/applicationdefinitions/postgres'
export const SECRETS = `/api/v1/namespaces/${TENANT}/secrets`
/** RFC 7677, section 3: made from the password `pencil`. */
export const SOUND =
  'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU='

const LABELS = {
  'apps.cozystack.io/application.group': 'apps.cozystack.io',
  'apps.cozystack.io/application.kind': 'Postgres',
  'apps.cozystack.io/application.name': 'orders',
}

export const encode = (text: string): string => Buffer.from(text).toString('base64')

export async function syncPlace(): Promise<SyncPlace> {
  const cluster = await syncCluster()
  return { ...placeOn(cluster), sandbox: cluster.sandbox }
}

export function placeOn(cluster: Cluster): Place {
  const { admin, services, way, events } = cluster
  const secretPath = (account: string) => `${SECRETS}/${RELEASE}.${account}.account`
  const outcome = async (release = RELEASE) => {
    const synced = await sync(services, { namespace: TENANT, release }, { by: BY })
    if (!synced.ok) throw new Error(synced.failure.reason)
    return synced.value
  }
  const changeRelease = (change: (release: Anything) => void) =>
    admin.change(`${RELEASES}/${RELEASE}`, change)
  return {
    ...cluster,
    outcome,
    sync: async () => {
      const synced = await outcome()
      if (synced.is !== 'synced') throw new Error(synced.is)
      return synced.report
    },
    orders: (values, { spec, metadata } = {}) =>
      admin.create(RELEASES, {
        apiVersion: 'helm.toolkit.fluxcd.io/v2',
        kind: 'HelmRelease',
        metadata: { name: RELEASE, labels: LABELS, ...metadata },
        spec: { interval: '5m', chartRef: { kind: 'OCIRepository', name: 'chart' }, values, ...spec },
      }),
    changeRelease,
    deployed: async (more) => {
      const { metadata } = await admin.get(`${RELEASES}/${RELEASE}`)
      await admin.change(`${RELEASES}/${RELEASE}/status`, (release) => {
        release.status = { ...landedStatus(metadata.generation), ...more }
      })
    },
    put: async (account, change) => {
      const release = await admin.find(`${RELEASES}/${RELEASE}`)
      const declaredBy = await declaredByNow(admin)
      const uid = release?.metadata.uid ?? 'uid-of-nobody'
      return admin.create(SECRETS, secretOf(account, uid, { declaredBy, ...change }))
    },
    secret: (account) => admin.find(secretPath(account)),
    changeSecret: (account, change) => admin.change(secretPath(account), change),
    secrets: async () => (await admin.get(SECRETS)).items,
    writes: () =>
      way
        .calls()
        .filter(({ method }) => method !== 'GET')
        .map(({ method, path, body }) => {
          const { pathname } = new URL(path, 'https://kube.test')
          const name = method === 'POST' ? `/${JSON.parse(body).metadata.name}` : ''
          return `${method} ${`${pathname}${name}`.replace(`/api/v1/namespaces/${TENANT}/`, '')}`
        }),
    reasons: () => events.map(({ reason }) => reason),
  }
}

export const DECLARED_BY = 'credentials.cozystack.io/declared-by'

/** What account Secrets say that are declared by the definition as it is; null when it has no rules. */
export async function declaredByNow(admin: Pick<SyncCluster['admin'], 'find'>): Promise<string | null> {
  const definition = await admin.find(DEFINITION)
  const rules = definition === undefined ? undefined : parseRules(definition)
  return (rules?.ok ? rules.value?.declaredBy : undefined) ?? null
}

/** `github.com/fluxcd/helm-controller/api/v2`, HelmReleaseStatus. */
const landedStatus = (generation: number) => ({
  observedGeneration: generation,
  history: [
    {
      name: RELEASE,
      namespace: TENANT,
      version: 1,
      status: 'deployed',
      chartName: 'postgres',
      chartVersion: '1.0.0',
      configDigest: 'sha256:0',
      digest: 'sha256:0',
      firstDeployed: '2026-10-01T00:00:00Z',
      lastDeployed: '2026-10-01T00:00:00Z',
    },
  ],
  conditions: [
    {
      type: 'Ready',
      status: 'True',
      reason: 'UpgradeSucceeded',
      message: '',
      lastTransitionTime: '2026-10-01T00:00:00Z',
      observedGeneration: generation,
    },
  ],
})

function secretOf(account: string, uid: string, change: SecretChange = {}): object {
  const { username = account, origin = 'Minted', owner = uid, annotation = uid, value = SOUND } = change
  const { declaredBy = null } = change
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/basic-auth',
    data: { username: encode(username), password: encode(value) },
    metadata: {
      name: `${RELEASE}.${account}.account`,
      labels: { 'credentials.cozystack.io/account': 'true', ...LABELS, ...change.labels },
      annotations: {
        'credentials.cozystack.io/origin': origin,
        'credentials.cozystack.io/history':
          '[{"operation":"Mint","at":"2026-10-01T08:00:00Z","by":"jane@example.org"}]',
        ...(annotation === null ? {} : { 'credentials.cozystack.io/release-uid': annotation }),
        ...(declaredBy === null ? {} : { [DECLARED_BY]: declaredBy }),
        ...change.annotations,
      },
      ...(owner === null ? {} : { ownerReferences: [ownerOf(owner)] }),
      ...(change.finalizers === undefined ? {} : { finalizers: change.finalizers }),
    },
    ...change.more,
  }
}

const ownerOf = (uid: string) => ({
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  name: RELEASE,
  uid,
  controller: false,
  blockOwnerDeletion: false,
})

/** Values that declare these. */
export const users = (...names: readonly string[]) => ({
  users: Object.fromEntries(names.map((name) => [name, {}])),
})

/** What a sync with nothing to do reports. */
export const NOTHING: SyncReport = { created: [], adopted: [], marked: [], deleted: [], warnings: 0 }

/** A sync between whose calls something happens. */
export const syncWith = (
  services: SyncServices,
  change: (kube: Kube) => Partial<Kube>,
): ReturnType<typeof sync> =>
  sync(
    { ...services, kube: { ...services.kube, ...change(services.kube) } },
    { namespace: TENANT, release: RELEASE },
    { by: BY },
  )

/** Beside `web`, the account `old`. */
export const declareOld = ({ changeRelease }: Pick<Place, 'changeRelease'>): Promise<Anything> =>
  changeRelease((release) => {
    release.spec.values = users('web', 'old')
  })

/** Does it once, after the first call is answered. */
export function onceAfter<A extends readonly unknown[], R>(
  call: (...given: A) => Promise<R>,
  act: () => Promise<unknown>,
) {
  let isDone = false
  return async (...given: A): Promise<R> => {
    const answer = await call(...given)
    if (!isDone) {
      isDone = true
      await act()
    }
    return answer
  }
}

export const UNDECLARED_SINCE = 'credentials.cozystack.io/undeclared-since'

/** A landed release that declares `web`, and has an account Secret of `old` besides that was marked long ago. */
export async function aboutToDelete({ orders, put, deployed }: Place): Promise<void> {
  await orders(users('web'))
  await put('web')
  await put('old', { annotations: { [UNDECLARED_SINCE]: '2026-10-01T00:00:00Z' } })
  await deployed()
}
