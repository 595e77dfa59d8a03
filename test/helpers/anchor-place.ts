import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Fetch } from '../../src/core/deps.ts'
import type { KubeEvent } from '../../src/k8s/objects.ts'
import type { Declaration } from '../../src/trust-anchor/declaration.ts'
import type { AnchorOutcome } from '../../src/trust-anchor/outcome.ts'
import { reconcile } from '../../src/trust-anchor/reconcile.ts'
import type { AnchorServices, Legs } from '../../src/trust-anchor/services.ts'
import { type Anything, decode } from '../contract/kube.ts'
import { GRACE_MS, type SyncCluster, syncCluster, syncServicesOver, TENANT } from './sync-cluster.ts'
import { encode, SECRETS } from './sync-place.ts'

type Authority = 'first' | 'second' | 'leaf' | 'expired' | 'early'

/** PEM, as OpenSSL writes it. */
export const AUTHORITIES: Readonly<Record<Authority, string>> = JSON.parse(
  readFileSync(join(import.meta.dirname, '../vectors/authorities.json'), 'utf8'),
)

/** As far as it goes before a key: RFC 7468, section 10. */
export const PRIVATE_KEY = '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n'

export const RELEASE = 'postgres-orders'
export const SOURCE = `${RELEASE}-ca`
export const TARGET = `${RELEASE}.tenant-ca`
export const PROJECTION: Declaration = { leg: 'projection', namespace: TENANT, name: SOURCE }
export const LABELLED: Declaration = { leg: 'label', namespace: TENANT, secret: SOURCE }
export const NAMED: Declaration = { leg: 'name', namespace: TENANT, release: RELEASE }
export const PROJECTIONS = `/apis/internal.cozystack.io/v1alpha1/namespaces/${TENANT}/tenantprojections`

/** What a chart renders for its engine. */
export const ENTRY = { type: 'CACert', sourceSecretName: SOURCE, sourceKey: 'ca.crt' }

export const ALL_LEGS: Legs = {
  labels: true,
  names: new Map([['Postgres', { source: '{release}-ca', key: 'ca.crt' }]]),
}

/** Of a Secret that asks for itself. */
export const PUBLISH_LABELS = {
  'internal.cozystack.io/publish-ca-cert': 'true',
  'internal.cozystack.io/publish-ca-cert-release': RELEASE,
}

interface SecretOptions {
  readonly name?: string
  readonly data?: Readonly<Record<string, string>>
  readonly type?: string
  readonly metadata?: object
  readonly more?: object
}

interface ProjectionOptions {
  readonly name?: string
  readonly release?: string
  readonly projections?: readonly object[]
  readonly metadata?: object
}

/** A sandbox with the shipped roles in which CAs are published. */
export interface AnchorPlace
  extends Pick<SyncCluster, 'sandbox' | 'admin' | 'way' | 'pass' | 'order' | 'logged'> {
  readonly services: AnchorServices
  /** Another instance of the function, with this way to the API, which says nothing to anybody. */
  readonly instance: (fetch: Fetch) => AnchorServices
  /** What was said, in order. */
  readonly events: readonly KubeEvent[]
  readonly reasons: () => readonly string[]
  /** Creates a Secret with these texts, by default the source with a CA and its key. */
  readonly secret: (options?: SecretOptions) => Promise<Anything>
  readonly projection: (options?: ProjectionOptions) => Promise<Anything>
  /** Writes another value into the source. */
  readonly fill: (data: Readonly<Record<string, string>>) => Promise<Anything>
  readonly change: (name: string, change: (secret: Anything) => void) => Promise<Anything>
  /** Throws what failed. */
  readonly reconcile: (declaration?: Declaration) => Promise<AnchorOutcome>
  readonly reason: (declaration?: Declaration) => Promise<string>
  readonly target: () => Promise<Anything>
  /** The text of each key. */
  readonly published: () => Promise<Readonly<Record<string, string>> | undefined>
  /** The condition Ready; undefined when there is none. */
  readonly ready: (name?: string) => Promise<Anything>
  /** `PUT secrets/postgres-orders.tenant-ca`: what was written through the function's own way, in order. */
  readonly writes: () => readonly string[]
}

export async function anchorPlace(legs: Partial<Legs> = {}): Promise<AnchorPlace> {
  const cluster = await syncCluster()
  const { admin, way, events } = cluster
  const services: AnchorServices = {
    ...cluster.services,
    legs: { labels: false, names: new Map(), ...legs },
  }
  const run = async (declaration = PROJECTION) => {
    const done = await reconcile(services, declaration)
    if (!done.ok) throw new Error(done.failure.reason)
    return done.value
  }
  const target = () => admin.find(`${SECRETS}/${TARGET}`)
  const change = (name: string, edit: (secret: Anything) => void) => admin.change(`${SECRETS}/${name}`, edit)
  return {
    ...cluster,
    services,
    instance: (fetch) => {
      const { now, randomBytes } = cluster.services.deps
      const other = syncServicesOver(fetch, { now, randomBytes, graceMs: GRACE_MS })
      return { ...other.services, legs: services.legs }
    },
    events,
    reasons: () => events.map(({ reason }) => reason),
    secret: (options) => admin.create(SECRETS, secretOf(options)),
    projection: (options) => admin.create(PROJECTIONS, projectionOf(options)),
    change,
    fill: (data) =>
      change(SOURCE, (secret) => {
        secret.data = encoded(data)
      }),
    reconcile: run,
    reason: async (declaration) => {
      const done = await run(declaration)
      return done.is === 'done' ? done.reason : done.is
    },
    target,
    published: async () => {
      const found = await target()
      return found === undefined ? undefined : decoded(found.data)
    },
    ready: async (name = SOURCE) => {
      const { status } = await admin.get(`${PROJECTIONS}/${name}`)
      return status?.conditions?.find(({ type }: Anything) => type === 'Ready')
    },
    writes: () =>
      way
        .calls()
        .filter(({ method }) => method !== 'GET')
        .map(writeOf),
  }
}

function writeOf({ method, path, body }: ReturnType<SyncCluster['way']['calls']>[number]): string {
  const { pathname } = new URL(path, 'https://kube.test')
  const name = method === 'POST' ? `/${JSON.parse(body).metadata.name}` : ''
  return `${method} ${`${pathname}${name}`.split(`/namespaces/${TENANT}/`)[1]}`
}

const encoded = (data: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(data).map(([key, text]) => [key, encode(text)]))

const decoded = (data: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decode(value)]))

const secretOf = ({ name = SOURCE, data, type = 'Opaque', metadata, more }: SecretOptions = {}) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type,
  metadata: { name, ...metadata },
  data: encoded(data ?? { 'ca.crt': AUTHORITIES.first, 'ca.key': PRIVATE_KEY }),
  ...more,
})

const projectionOf = ({
  name = SOURCE,
  release = RELEASE,
  projections = [ENTRY],
  metadata,
}: ProjectionOptions = {}) => ({
  apiVersion: 'internal.cozystack.io/v1alpha1',
  kind: 'TenantProjection',
  metadata: { name, labels: { 'helm.toolkit.fluxcd.io/name': release }, ...metadata },
  spec: { projections },
})
