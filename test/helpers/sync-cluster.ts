import type { Deps, Fetch } from '../../src/core/deps.ts'
import { noMetrics } from '../../src/core/metrics.ts'
import type { SweepReport } from '../../src/credentials/sweep.ts'
import type { SyncServices } from '../../src/credentials/sync.ts'
import { createDefinitionLookup } from '../../src/definitions/lookup.ts'
import { createKube } from '../../src/k8s/adapter.ts'
import type { KubeEvent } from '../../src/k8s/objects.ts'
import { sendOver } from '../../src/k8s/send.ts'
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts'
import { exampleDefinitions, shippedRoles } from '../contract/backends/manifests.ts'
import { type Admin, adminOf } from '../contract/kube.ts'
import { releaseOf } from '../contract/tenant.ts'
import { type Faulty, withFaults } from './faults.ts'

export const TENANT = 'tenant-acme'
/** Whom records name. */
export const BY = 'system:serviceaccount:mintonce:mintonce'
export const GRACE_MS = 600_000

/** What syncs and sweeps work with, in front of a sandbox with the shipped roles and the example definitions. */
export interface SyncCluster extends Watched {
  readonly sandbox: Sandbox
  readonly admin: Admin
  /** The function's way to the API: its calls, and what goes wrong with them. */
  readonly way: Faulty
  readonly pass: (milliseconds: number) => void
  readonly release: (name: string) => Promise<{ readonly metadata: { readonly uid: string } }>
  /** Creates a Postgres with these users, never deployed. */
  readonly order: (name: string, users: readonly string[], more?: Ordered) => Promise<void>
  /** Writes the users, and what Flux says when it has dealt with them. */
  readonly land: (name: string, users: readonly string[]) => Promise<void>
}

/** What a sweep that finds nothing reports. */
export const NOTHING_SWEPT: SweepReport = {
  releases: 0,
  synced: 0,
  created: 0,
  adopted: 0,
  marked: 0,
  deleted: 0,
  orphansDeleted: 0,
  warnings: 0,
  failures: 0,
}

interface Ordered {
  readonly kind?: string
  readonly namespace?: string
}

export interface Watched {
  readonly services: SyncServices
  readonly events: readonly KubeEvent[]
  readonly logged: readonly { readonly event: string; readonly fields: Readonly<Record<string, unknown>> }[]
}

interface WatchedOptions extends Pick<Deps, 'now' | 'randomBytes'> {
  readonly graceMs: number
}

/** What syncs and sweeps work with, in front of this API. Events are kept, and not sent. */
export function syncServicesOver(fetch: Fetch, { graceMs, ...deps }: WatchedOptions): Watched {
  const { now } = deps
  const timeoutMs = 5000
  const kube = createKube({
    send: sendOver(fetch),
    timeoutMs,
    reportingInstance: 'test',
    now,
    metrics: noMetrics,
  })
  const events: KubeEvent[] = []
  const logged: { event: string; fields: Readonly<Record<string, unknown>> }[] = []
  const services: SyncServices = {
    kube,
    definitions: createDefinitionLookup({ kube, now, maxAgeMs: 30_000, timeoutMs }),
    deps: { ...deps, log: (_level, event, fields) => void logged.push({ event, fields }) },
    emit: (event) => void events.push(event),
    graceMs,
  }
  return { services, events, logged }
}

const FLUX = '/apis/helm.toolkit.fluxcd.io/v2/namespaces'

export async function syncCluster(): Promise<SyncCluster> {
  let now = Date.parse('2026-10-02T09:14:07Z')
  const deps: Pick<Deps, 'now' | 'randomBytes'> = {
    now: () => now,
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
  }
  const manifests = [
    ...['mintonce', TENANT].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    ...(await shippedRoles()),
    ...exampleDefinitions(),
  ]
  const sandbox = createSandbox({ ...deps, manifests })
  const admin = adminOf(sandbox.admin)
  const way = withFaults(
    sandbox.fetchAs({
      username: BY,
      groups: ['system:serviceaccounts', 'system:serviceaccounts:mintonce'],
    }),
  )
  const { services, events, logged } = syncServicesOver(way.fetch, { ...deps, graceMs: GRACE_MS })
  const pathOf = (name: string, namespace = TENANT) => `${FLUX}/${namespace}/helmreleases/postgres-${name}`
  return {
    sandbox,
    admin,
    way,
    events,
    logged,
    services,
    pass: (milliseconds) => {
      now += milliseconds
    },
    release: (name) => admin.get(pathOf(name)),
    order: async (name, users, { kind = 'Postgres', namespace = TENANT } = {}) => {
      await admin.create(
        `${FLUX}/${namespace}/helmreleases`,
        releaseOf(kind, name, { users: usersOf(users) }),
      )
    },
    land: async (name, users) => {
      const { metadata } = await admin.change(pathOf(name), (release) => {
        release.spec.values = { users: usersOf(users) }
      })
      await admin.change(`${pathOf(name)}/status`, (release) => {
        release.status = {
          observedGeneration: metadata.generation,
          history: [{ version: 1, status: 'deployed' }],
          conditions: [{ type: 'Ready', status: 'True', observedGeneration: metadata.generation }],
        }
      })
    },
  }
}

const usersOf = (users: readonly string[]) => Object.fromEntries(users.map((user) => [user, {}]))
