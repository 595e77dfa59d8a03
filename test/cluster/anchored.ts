import { PROJECTION, projectionOf, SOURCE } from '../contract/anchoring.ts'
import { SETTINGS } from '../contract/backends/settings.ts'
import { type Admin, type Anything, adminOf } from '../contract/kube.ts'
import { createEngineCa, type EngineCa } from '../helpers/engine-ca.ts'
import { type RunningEntry, startEntry } from '../helpers/entry.ts'
import { type Aggregated, GROUP, startAggregated } from './aggregated.ts'
import { eventually } from './eventually.ts'
import { buildOverlay } from './shipped.ts'

const RBAC = 'rbac.authorization.k8s.io'
const FUNCTION = 'system:serviceaccount:mintonce:mintonce'
const BEARER = { Authorization: `Bearer ${SETTINGS.MINTONCE_EVENTS_KEYS}` }

/** Two replicas that publish CAs, one of them behind the aggregation layer, as the manifests install them. */
export interface Anchored extends Aggregated {
  readonly admin: Admin
  /** Of an engine: the one that every place holds, with its key. */
  readonly ca: EngineCa
  /** The other replica, which also takes labels and names for declarations. Over plain HTTP. */
  readonly other: RunningEntry
  /** A new namespace with a declaration, and what it declares. */
  readonly place: () => Promise<Place>
  /** An event in mode Reference, to the other replica: the code of the answer. */
  readonly hint: (namespace: string, kind: string, name: string) => Promise<number>
  /** To the other replica. Only the first one within some seconds looks at anything. */
  readonly tick: () => Promise<number>
  readonly bind: (namespace: string, role: string, subject: object, kind?: string) => Promise<void>
}

/** One tenant. */
export interface Place {
  readonly namespace: string
  /** By the call, through kube-apiserver, as administrator: the reason that is answered. */
  readonly sync: (name?: string) => Promise<string>
  readonly secret: (name: string) => Promise<Anything>
  readonly change: (name: string, change: (secret: Anything) => void) => Promise<Anything>
  /** Writes other texts into the source; undefined deletes it. */
  readonly source: (data: Readonly<Record<string, string>> | undefined) => Promise<void>
  readonly projection: (name?: string) => Promise<Anything>
  readonly declare: (name: string, change?: (projection: Anything) => void) => Promise<Anything>
  readonly create: (name: string, data: Readonly<Record<string, string>>, more?: object) => Promise<Anything>
  /** `Warning CACertInvalid Secret/postgres-orders-ca`, say. */
  readonly events: () => Promise<readonly string[]>
  /** What the function has written there so far, Events left out: `create secrets/postgres-orders.tenant-ca 201`, say. */
  readonly writes: () => Promise<readonly string[]>
}

export const base64 = (text: string): string => Buffer.from(text).toString('base64')
export const encoded = (data: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)]))
export const secretsIn = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`
export const projectionsIn = (namespace: string) =>
  `/apis/internal.cozystack.io/v1alpha1/namespaces/${namespace}/tenantprojections`
export const releasesIn = (namespace: string) =>
  `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases`
export const syncPath = (namespace: string, name = PROJECTION) =>
  `/apis/${GROUP}/v1alpha1/namespaces/${namespace}/tenantprojections/${name}/sync`

/** Stops with the function behind the aggregation layer. */
export async function startAnchored(): Promise<Anchored> {
  const aggregated = await startAggregated()
  const { plane, api } = aggregated
  const admin = adminOf(plane.adminFetch)
  const ca = await createEngineCa()
  // With the policy that holds the function to Secrets of two kinds.
  const shipped = { resources: ['deploy/base'], components: ['deploy/trust-anchor'] }
  await plane.apply(await buildOverlay(shipped, plane))
  const other = await startEntry(api, {
    ...SETTINGS,
    MINTONCE_API_GROUP: GROUP,
    MINTONCE_TRUST_ANCHOR_LABELS: 'on',
    MINTONCE_TRUST_ANCHOR_NAMES: 'default',
  })
  const post = async (path: string, init: RequestInit = {}) =>
    (await fetch(`http://127.0.0.1:${other.port}${path}`, { method: 'POST', ...init })).status
  let places = 0
  return {
    ...aggregated,
    admin,
    ca,
    other,
    place: () => {
      places += 1
      return createPlace({ admin, ca, plane }, `tenant-anchor-${places}`)
    },
    hint: (namespace, kind, name) => post('/events', eventAbout(plane.url, { namespace, kind, name })),
    tick: () => post('/tick', { headers: BEARER }),
    bind: async (namespace, role, subject, kind = 'ClusterRole') => {
      await admin.create(`/apis/${RBAC}/v1/namespaces/${namespace}/rolebindings`, {
        apiVersion: `${RBAC}/v1`,
        kind: 'RoleBinding',
        metadata: { name: role.replace(':', '.') },
        roleRef: { apiGroup: RBAC, kind, name: role },
        subjects: [{ apiGroup: RBAC, ...subject }],
      })
    },
    stop: async () => {
      await other.stop().finally(aggregated.stop)
    },
  }
}

/** One in mode Reference, as an ApiServerSource sends it. */
export function eventAbout(
  source: string,
  reference: { readonly namespace: string; readonly kind: string; readonly name: string },
): RequestInit {
  const apiVersion = reference.kind === 'Secret' ? 'v1' : 'internal.cozystack.io/v1alpha1'
  return {
    headers: {
      ...BEARER,
      'Content-Type': 'application/json',
      'ce-specversion': '1.0',
      'ce-id': '1',
      'ce-source': source,
      'ce-type': 'dev.knative.apiserver.ref.update',
    },
    body: JSON.stringify({ apiVersion, ...reference }),
  }
}

type Parts = Pick<Anchored, 'admin' | 'ca' | 'plane'>

async function createPlace({ admin, ca, plane }: Parts, namespace: string): Promise<Place> {
  const secrets = secretsIn(namespace)
  const projections = projectionsIn(namespace)
  const create: Place['create'] = (name, data, { metadata, ...more }: Anything = {}) =>
    admin.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, ...metadata },
      data: encoded(data),
      ...more,
    })
  const declare: Place['declare'] = (name, change = () => undefined) => {
    const declared = projectionOf(name)
    change(declared)
    return admin.create(projections, declared)
  }
  const change: Place['change'] = (name, edit) => admin.change(`${secrets}/${name}`, edit)
  await admin.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  })
  await create(SOURCE, { 'ca.crt': ca.certificate, 'ca.key': ca.key })
  await declare(PROJECTION)
  return {
    namespace,
    create,
    declare,
    change,
    sync: async (name) => {
      const call = ['create', '--raw', syncPath(namespace, name), '-f', '-']
      const { code, stdout, stderr } = await plane.kubectl(call, '{}')
      if (code !== 0) throw new Error(stderr)
      return JSON.parse(stdout).details.causes[0].reason
    },
    secret: (name) => admin.find(`${secrets}/${name}`),
    source: async (data) => {
      if (data === undefined) return admin.remove(`${secrets}/${SOURCE}`)
      await change(SOURCE, (secret) => {
        secret.data = encoded(data)
      })
    },
    projection: (name = PROJECTION) => admin.get(`${projections}/${name}`),
    events: async () => {
      const { items } = await admin.get(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`)
      return items.map(
        ({ type, reason, regarding }: Anything) => `${type} ${reason} ${regarding.kind}/${regarding.name}`,
      )
    },
    writes: () => writesIn({ admin, plane }, namespace),
  }
}

let marks = 0

/** By the audit log: complete once a request that is made now stands in it. */
async function writesIn({ admin, plane }: Pick<Parts, 'admin' | 'plane'>, namespace: string) {
  marks += 1
  const mark = `mark-${marks}`
  await admin.find(`${secretsIn(namespace)}/${mark}`)
  await eventually('the audit log is written', async () => (await plane.auditLog()).includes(`/${mark}"`))
  return (await plane.auditLog())
    .trim()
    .split('\n')
    .map((line): Anything => JSON.parse(line))
    .filter(
      ({ user, verb, objectRef }) =>
        isWrite(verb) && user.username === FUNCTION && objectRef?.namespace === namespace,
    )
    .filter(({ objectRef }) => objectRef.resource !== 'events')
    .map(({ verb, objectRef: { resource, subresource, name }, responseStatus }) =>
      [verb, [resource, name, subresource].filter(Boolean).join('/'), responseStatus.code].join(' '),
    )
}

const isWrite = (verb: string): boolean => !['get', 'list', 'watch'].includes(verb)
