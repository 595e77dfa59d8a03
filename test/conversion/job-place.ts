import { createHash } from 'node:crypto'
import type { FileDefinition } from '../../src/conversion/definitions.ts'
import { type JobOutcome, job } from '../../src/conversion/job.ts'
import type { JobbedRelease, JobOptions, JobServices } from '../../src/conversion/job-options.ts'
import { RECORD_NAMES } from '../../src/conversion/record-store.ts'
import type { Fetch } from '../../src/core/deps.ts'
import { noMetrics } from '../../src/core/metrics.ts'
import { ok } from '../../src/core/result.ts'
import { createKube } from '../../src/k8s/adapter.ts'
import { createConversionKube } from '../../src/k8s/adapter-conversion.ts'
import type { ExecInPod } from '../../src/k8s/exec-in-pod.ts'
import { sendOver } from '../../src/k8s/send.ts'
import { type Admin, type Anything, decode } from '../contract/kube.ts'
import { type Rule, withFaults } from '../helpers/faults.ts'
import { fileDefinitions, type HookPlace, hookPlace, PLATFORM, STARTED_AT, TENANT } from './hook-place.ts'

/** Whom records name. */
const BY = `system:serviceaccount:${PLATFORM}:convert-job`
const FLUX = '/apis/helm.toolkit.fluxcd.io/v2'

/** A cluster whose hook has run, with a Flux that upgrades and engines that know their passwords. */
export interface JobPlace {
  readonly before: HookPlace
  readonly admin: Admin
  /** What an engine takes now, by release. */
  readonly engines: ReadonlyMap<string, FakeEngine>
  readonly logged: readonly { readonly event: string; readonly fields: Readonly<Record<string, unknown>> }[]
  /** Creates a deployed application with passwords from before. */
  readonly order: HookPlace['order']
  /** The charts and definitions of the next platform release are there: Flux upgrades from now on. */
  readonly switchCharts: () => Promise<void>
  /** What Flux does within some seconds. */
  readonly flux: () => Promise<void>
  readonly pass: (milliseconds: number) => void
  /** The calls of one run, which `around` may cut off, by a way to the API that `rules` spoil. */
  readonly servicesWith: (around?: Around, rules?: readonly Rule[]) => JobServices
  readonly run: (options?: Partial<JobOptions>, services?: JobServices) => Promise<JobOutcome>
  readonly job: (options?: Partial<JobOptions>) => Promise<Finished>
  readonly release: (name: string) => Promise<Anything>
  readonly changeRelease: (name: string, change: (release: Anything) => void) => Promise<Anything>
  readonly secret: (name: string, namespace?: string) => Promise<Anything>
  /** The values of a Secret, decoded. */
  readonly data: (name: string) => Promise<Readonly<Record<string, string>> | undefined>
}

export interface FakeEngine {
  password: { readonly sha1: string } | { readonly plain: string }
  changes: number
}

type Finished = Extract<JobOutcome, { readonly releases: readonly JobbedRelease[] }>
export type Around = <T>(call: () => Promise<T>) => Promise<T>

/** `PASSWORD()` of MariaDB: `*` and SHA-1 of SHA-1. */
export const mysqlHash = (password: string): string => {
  const sha1 = (bytes: string | Buffer) => createHash('sha1').update(bytes).digest()
  return `*${sha1(sha1(password)).toString('hex').toUpperCase()}`
}

/** What the job may do, and nothing else. */
const RIGHTS: readonly object[] = [
  role(undefined, [
    [['cozystack.io'], ['applicationdefinitions'], ['list']],
    [['helm.toolkit.fluxcd.io'], ['helmreleases'], ['get', 'patch']],
    [[''], ['secrets'], ['get', 'create', 'update', 'delete']],
    [[''], ['pods'], ['list']],
    [['rbac.authorization.k8s.io'], ['roles'], ['list']],
    [['events.k8s.io'], ['events'], ['create']],
  ]),
  role(PLATFORM, [[[''], ['configmaps'], ['get', 'update'], RECORD_NAMES]]),
].flat()

type Right = readonly [
  groups: readonly string[],
  resources: readonly string[],
  verbs: readonly string[],
  names?: readonly string[],
]

function role(namespace: string | undefined, rules: readonly Right[]): readonly object[] {
  const prefix = namespace === undefined ? 'Cluster' : ''
  const metadata = { name: 'convert-job', ...(namespace === undefined ? {} : { namespace }) }
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const all = rules.map(([apiGroups, resources, verbs, resourceNames]) => ({
    apiGroups,
    resources,
    verbs,
    ...(resourceNames === undefined ? {} : { resourceNames }),
  }))
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: `${prefix}Role`, name: 'convert-job' }
  const subjects = [{ kind: 'ServiceAccount', name: 'convert-job', namespace: PLATFORM }]
  return [
    { apiVersion, kind: `${prefix}Role`, metadata, rules: all },
    { apiVersion, kind: `${prefix}RoleBinding`, metadata, roleRef, subjects },
  ]
}

const pathOfRole = ({ kind, metadata }: Anything): string => {
  const within = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`
  return `/apis/rbac.authorization.k8s.io/v1${within}/${kind.toLowerCase()}s`
}

export async function jobPlace(): Promise<JobPlace> {
  const before = hookPlace()
  const { admin, sandbox } = before
  for (const each of RIGHTS) await admin.create(pathOfRole(each), each)
  const engines = new Map<string, FakeEngine>()
  const clock = { now: Date.parse(STARTED_AT) + 60_000 }
  const logged: { event: string; fields: Readonly<Record<string, unknown>> }[] = []
  const flux = createFlux(admin, engines)
  const way = sandbox.fetchAs({
    username: BY,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${PLATFORM}`, 'system:authenticated'],
  })
  const servicesWith: JobPlace['servicesWith'] = (around = (call) => call(), rules = []) => {
    const faulty = withFaults(way, rules)
    return servicesOver((request) => around(() => faulty.fetch(request)), {
      now: () => clock.now,
      log: (_level, event, fields) => void logged.push({ event, fields }),
      exec: (...args) => around(() => execIn(engines)(...args)),
      wait: (milliseconds) =>
        around(async () => {
          clock.now += milliseconds
          await flux.reconcile()
        }),
    })
  }
  const run: JobPlace['run'] = (options = {}, services = servicesWith()) =>
    job(services, {
      files: [],
      hosts: [],
      namespace: undefined,
      dryRun: false,
      concurrency: 4,
      timeoutMs: 600_000,
      ...options,
    })
  const releasePath = (name: string) => `${FLUX}/namespaces/${TENANT}/helmreleases/${name}`
  return {
    before,
    admin,
    engines,
    logged,
    order: async (name, passwords, more) => {
      const release = await before.order(name, passwords, more)
      await addEngine(admin, engines, release, passwords)
      return release
    },
    switchCharts: async () => {
      for (const { definition } of switchedDefinitions()) {
        await admin.change(
          `/apis/cozystack.io/v1alpha1/applicationdefinitions/${definition.metadata.name}`,
          (each) => {
            each.spec = definition.spec
          },
        )
      }
      flux.release('2.0.0')
    },
    flux: flux.reconcile,
    pass: (milliseconds) => {
      clock.now += milliseconds
    },
    servicesWith,
    run,
    job: async (options) => {
      const outcome = await run(options)
      if (!('releases' in outcome)) throw new Error(JSON.stringify(outcome))
      return outcome
    },
    release: (name) => admin.find(releasePath(name)),
    changeRelease: (name, change) => admin.change(releasePath(name), change),
    secret: before.secret,
    data: async (name) => {
      const secret = await before.secret(name)
      return (
        secret &&
        Object.fromEntries(
          Object.entries(secret.data ?? {}).map(([key, value]) => [key, decode(String(value))]),
        )
      )
    },
  }
}

interface Ways {
  readonly now: () => number
  readonly log: JobServices['deps']['log']
  readonly exec: ExecInPod
  readonly wait: JobServices['wait']
}

function servicesOver(fetch: Fetch, { now, log, exec, wait }: Ways): JobServices {
  // A call of a run that was killed never ends.
  const ways = { send: sendOver(fetch), timeoutMs: 2 ** 30, now, metrics: noMetrics }
  return {
    kube: createKube({ ...ways, reportingInstance: 'test' }),
    conversionKube: createConversionKube(ways),
    platformNamespace: PLATFORM,
    exec,
    wait,
    deps: { now, log, randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)) },
  }
}

/** With a block, and without the Secret that tenants were shown. */
export const switchedDefinitions = (): readonly FileDefinition[] =>
  fileDefinitions().map(({ file, definition }) => {
    const { secrets: _shown, ...spec } = definition.spec
    const include = [{ matchLabels: { 'internal.cozystack.io/tenant-ca': 'true' } }]
    return { file, definition: { ...definition, spec: { ...spec, secrets: { include } } } }
  })

async function addEngine(
  admin: Admin,
  engines: Map<string, FakeEngine>,
  { metadata: { name, namespace } }: Anything,
  passwords: Parameters<HookPlace['order']>[1],
): Promise<void> {
  const { root, backup } = passwords
  if (typeof backup === 'string') engines.set(name, { password: { plain: backup }, changes: 0 })
  if (typeof root !== 'string') return
  engines.set(name, { password: { sha1: mysqlHash(root) }, changes: 0 })
  await admin.create(`/api/v1/namespaces/${namespace}/pods`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-0`,
      namespace,
      labels: {
        'app.kubernetes.io/name': 'mariadb',
        'app.kubernetes.io/instance': name,
        'k8s.mariadb.com/role': 'primary',
      },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'StatefulSet',
          name,
          uid: `stateful-set-${name}`,
          controller: true,
        },
      ],
    },
    spec: { containers: [{ name: 'mariadb', image: 'mariadb' }] },
  })
}

/** A client and a server of MariaDB that know a login and one statement. */
const execIn =
  (engines: ReadonlyMap<string, FakeEngine>): ExecInPod =>
  async ({ pod }, stdin) => {
    const engine = engines.get(pod.replace(/-0$/, ''))
    const password: string = JSON.parse(stdin.split('\n', 1)[0] ?? '')
    if (engine === undefined || !takes(engine, password)) {
      const stderr = "ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: YES)\n"
      return ok({ stdout: '', stderr, exitCode: 1 })
    }
    const [, hash] = /IDENTIFIED BY PASSWORD ''(\*[0-9A-F]{40})''/.exec(stdin) ?? []
    if (hash !== undefined) {
      engine.password = { sha1: hash }
      engine.changes += 1
    }
    return ok({ stdout: 'root@localhost\n', stderr: '', exitCode: 0 })
  }

export const takes = ({ password }: FakeEngine, given: string): boolean =>
  'sha1' in password ? password.sha1 === mysqlHash(given) : password.plain === given

/**
 * helm-controller as far as it matters: nothing is done for a suspended release, but its generation and `requestedAt` are
 * noted; otherwise it upgrades for another spec, another chart, or a new `forceAt` that is `requestedAt`. One with the label
 * `stuck` it does not get to.
 */
function createFlux(admin: Admin, engines: ReadonlyMap<string, FakeEngine>) {
  let chartVersion: string | undefined
  const reconcileOne = async ({ metadata, spec, status = {} }: Anything) => {
    const [newest] = status.history ?? []
    const target = chartVersion ?? newest?.chartVersion ?? '1.0.0'
    const annotations = metadata.annotations ?? {}
    const requestedAt = annotations['reconcile.fluxcd.io/requestedAt']
    const isNew = requestedAt !== undefined && requestedAt !== status.lastHandledReconcileAt
    const isForced = isNew && annotations['reconcile.fluxcd.io/forceAt'] === requestedAt
    const isDue =
      isForced || newest?.chartVersion !== target || status.observedGeneration !== metadata.generation
    const upgrades = spec.suspend !== true && isDue
    if (upgrades) await applyChart(admin, engines, metadata)
    const path = `${FLUX}/namespaces/${metadata.namespace}/helmreleases/${metadata.name}/status`
    await admin.change(path, (release) => {
      release.status = {
        ...status,
        observedGeneration: metadata.generation,
        ...(requestedAt === undefined ? {} : { lastHandledReconcileAt: requestedAt }),
        conditions: [{ type: 'Ready', status: 'True', observedGeneration: metadata.generation }],
        history: upgrades
          ? [
              { version: (newest?.version ?? 0) + 1, status: 'deployed', chartVersion: target },
              ...(status.history ?? []),
            ]
          : (status.history ?? []),
      }
    })
  }
  return {
    release: (version: string) => {
      chartVersion = version
    },
    reconcile: async () => {
      const { items } = await admin.get(`${FLUX}/helmreleases`)
      for (const each of items) if (each.metadata.labels.stuck === undefined) await reconcileOne(each)
    },
  }
}

/** The chart of ClickHouse puts the password of `backup` into the engine when it is rendered. */
async function applyChart(
  admin: Admin,
  engines: ReadonlyMap<string, FakeEngine>,
  metadata: Anything,
): Promise<void> {
  const engine = engines.get(metadata.name)
  if (engine === undefined || 'sha1' in engine.password) return
  const secret = await admin.find(
    `/api/v1/namespaces/${metadata.namespace}/secrets/${metadata.name}-credentials`,
  )
  const plain = decode(secret?.data?.backup)
  if (plain === '' || plain === engine.password.plain) return
  engine.password = { plain }
  engine.changes += 1
}
