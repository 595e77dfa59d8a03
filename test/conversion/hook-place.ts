import { type ConvertedKind, type FileDefinition, kindsToConvert } from '../../src/conversion/definitions.ts'
import {
  type HookedRelease,
  type HookOptions,
  type HookOutcome,
  type HookServices,
  hook,
} from '../../src/conversion/hook.ts'
import { RECORD_NAMES } from '../../src/conversion/record-store.ts'
import type { Fetch } from '../../src/core/deps.ts'
import { noMetrics } from '../../src/core/metrics.ts'
import { createKube } from '../../src/k8s/adapter.ts'
import { createConversionKube } from '../../src/k8s/adapter-conversion.ts'
import type { ApplicationDefinition } from '../../src/k8s/objects.ts'
import { sendOver } from '../../src/k8s/send.ts'
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts'
import { exampleDefinitions } from '../contract/backends/manifests.ts'
import { type Admin, type Anything, adminOf } from '../contract/kube.ts'
import { releaseOf } from '../contract/tenant.ts'
import { type Faulty, withFaults } from '../helpers/faults.ts'

export const PLATFORM = 'cozy-system'
export const TENANT = 'tenant-acme'
export const NEIGHBOUR = 'tenant-umbrella'
/** Whom records name. */
export const BY = `system:serviceaccount:${PLATFORM}:convert-hook`
export const STARTED_AT = '2026-10-02T09:14:07Z'

/** A cluster before its conversion: definitions without a block, and releases with passwords in the clear. */
export interface HookPlace {
  readonly sandbox: Sandbox
  readonly admin: Admin
  /** The hook's way to the API: its calls, and what goes wrong with them. */
  readonly way: Faulty
  readonly logged: readonly Logged[]
  readonly pass: (milliseconds: number) => void
  readonly services: HookServices
  /** Creates a deployed application with passwords from before, by username; texts, or base64 in an object. */
  readonly order: (name: string, passwords: Passwords, more?: Ordered) => Promise<Anything>
  readonly run: (options?: RunOptions) => Promise<HookOutcome>
  /** What became of the releases; throws when the run did not finish. */
  readonly convert: (options?: RunOptions) => Promise<readonly HookedRelease[]>
  readonly secret: (name: string, namespace?: string) => Promise<Anything>
  readonly changeSecret: (name: string, change: (secret: Anything) => void) => Promise<Anything>
  /** The record: entries by key. */
  readonly record: () => Promise<Readonly<Record<string, Anything>>>
  readonly events: () => Promise<readonly Anything[]>
  /** Every object that a conversion could touch, as it is stored, its version included. */
  readonly stored: () => Promise<Readonly<Record<string, Anything>>>
}

interface RunOptions extends Partial<HookOptions> {
  /** Instead of the services of the place. */
  readonly over?: HookServices
}

interface Logged {
  readonly event: string
  readonly fields: Readonly<Record<string, unknown>>
}

type Passwords = Readonly<Record<string, string | { readonly base64: string }>>

interface Ordered {
  readonly kind?: string
  readonly namespace?: string
  /** Instead of a map of these users. */
  readonly values?: object
  readonly spec?: object
  /** Of the Secret with the passwords. False: there is none. */
  readonly before?: false | { readonly metadata?: object }
  readonly chartVersion?: string
}

const FLUX = '/apis/helm.toolkit.fluxcd.io/v2'
const core = (kind: string, name: string) => ({ apiVersion: 'v1', kind, metadata: { name } })

/** What the hook may do, and nothing else. */
const RIGHTS: readonly object[] = [
  role(undefined, [
    [['cozystack.io'], ['applicationdefinitions'], ['list']],
    [['helm.toolkit.fluxcd.io'], ['helmreleases'], ['list']],
    [[''], ['secrets'], ['get', 'create', 'update']],
    [['events.k8s.io'], ['events'], ['create']],
  ]),
  role(PLATFORM, [
    [[''], ['configmaps'], ['create']],
    [[''], ['configmaps'], ['get', 'update'], RECORD_NAMES],
  ]),
].flat()

type Rule = readonly [
  apiGroups: readonly string[],
  resources: readonly string[],
  verbs: readonly string[],
  resourceNames?: readonly string[],
]

function role(namespace: string | undefined, rules: readonly Rule[]): readonly object[] {
  const prefix = namespace === undefined ? 'Cluster' : ''
  const metadata = { name: 'convert-hook', ...(namespace === undefined ? {} : { namespace }) }
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  return [
    {
      apiVersion,
      kind: `${prefix}Role`,
      metadata,
      rules: rules.map(([apiGroups, resources, verbs, resourceNames]) => ({
        apiGroups,
        resources,
        verbs,
        ...(resourceNames === undefined ? {} : { resourceNames }),
      })),
    },
    {
      apiVersion,
      kind: `${prefix}RoleBinding`,
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: `${prefix}Role`, name: 'convert-hook' },
      subjects: [{ kind: 'ServiceAccount', name: 'convert-hook', namespace: PLATFORM }],
    },
  ]
}

/** Blocks as the files of a platform release have them. */
export const fileDefinitions = (...kinds: readonly string[]): readonly FileDefinition[] =>
  exampleDefinitions()
    .map((object) => object as ApplicationDefinition)
    .filter(({ spec }) => kinds.length === 0 || kinds.includes(kindOf(spec)))
    .map((definition) => ({ file: `${definition.metadata.name}.yaml`, definition }))

const kindOf = (spec: ApplicationDefinition['spec']): string => Reflect.get(spec.application ?? {}, 'kind')

export function kindsOf(files: readonly FileDefinition[]): readonly ConvertedKind[] {
  const kinds = kindsToConvert(files, [], ['.svc'])
  if (!kinds.ok) throw new Error(JSON.stringify(kinds.failure))
  return kinds.value
}

export function hookPlace(): HookPlace {
  let now = Date.parse(STARTED_AT)
  const deps = {
    now: () => now,
    randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
  }
  const manifests = [
    ...[PLATFORM, TENANT, NEIGHBOUR].map((name) => core('Namespace', name)),
    ...RIGHTS,
    ...fileDefinitions().map(({ definition: { spec, ...rest } }) => {
      const { credentials: _later, ...before } = spec
      return { ...rest, spec: before }
    }),
  ]
  const sandbox = createSandbox({ ...deps, manifests })
  const admin = adminOf(sandbox.admin)
  const way = withFaults(
    sandbox.fetchAs({
      username: BY,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${PLATFORM}`, 'system:authenticated'],
    }),
  )
  const logged: Logged[] = []
  const services = hookServicesOver(way.fetch, deps, logged)
  const run: HookPlace['run'] = ({ over = services, ...options } = {}) =>
    hook(over, {
      kinds: kindsOf(fileDefinitions()),
      namespace: undefined,
      dryRun: false,
      concurrency: 4,
      ...options,
    })
  const secretPath = (name: string, namespace = TENANT) => `/api/v1/namespaces/${namespace}/secrets/${name}`
  return {
    sandbox,
    admin,
    way,
    logged,
    pass: (milliseconds) => {
      now += milliseconds
    },
    services,
    order: (name, passwords, more) => order(admin, name, passwords, more),
    run,
    convert: async (options) => {
      const outcome = await run(options)
      if (outcome.is !== 'finished') throw new Error(JSON.stringify(outcome))
      return outcome.releases
    },
    secret: (name, namespace) => admin.find(secretPath(name, namespace)),
    changeSecret: (name, change) => admin.change(secretPath(name), change),
    record: () => readRecord(admin),
    events: async () => (await admin.get(`/apis/events.k8s.io/v1/namespaces/${TENANT}/events`)).items,
    stored: () => readStored(admin),
  }
}

export function hookServicesOver(
  fetch: Fetch,
  deps: Pick<HookServices['deps'], 'now' | 'randomBytes'>,
  logged: Logged[] = [],
): HookServices {
  const ways = { send: sendOver(fetch), timeoutMs: 5000, now: deps.now, metrics: noMetrics }
  return {
    kube: createKube({ ...ways, reportingInstance: 'test' }),
    conversionKube: createConversionKube(ways),
    platformNamespace: PLATFORM,
    deps: { ...deps, log: (_level, event, fields) => void logged.push({ event, fields }) },
    wait: async () => {},
  }
}

async function readRecord(admin: Admin): Promise<Readonly<Record<string, Anything>>> {
  const entries: [string, Anything][] = []
  for (const name of RECORD_NAMES) {
    const map = await admin.find(`/api/v1/namespaces/${PLATFORM}/configmaps/${name}`)
    for (const [key, value] of Object.entries(map?.data ?? {})) entries.push([key, JSON.parse(String(value))])
  }
  return Object.fromEntries(entries)
}

const STORED = [
  '/api/v1/secrets',
  '/api/v1/configmaps',
  `${FLUX}/helmreleases`,
  '/apis/events.k8s.io/v1/events',
]

async function readStored(admin: Admin): Promise<Readonly<Record<string, Anything>>> {
  const lists = await Promise.all(STORED.map((path) => admin.get(path)))
  const objects = lists.flatMap(({ kind, items }) =>
    items.map((item: Anything) => [`${kind} ${item.metadata.namespace}/${item.metadata.name}`, item]),
  )
  return Object.fromEntries(objects)
}

const encoded = (password: Passwords[string]): string =>
  typeof password === 'string' ? Buffer.from(password).toString('base64') : password.base64

async function order(
  admin: Admin,
  name: string,
  passwords: Passwords,
  { kind = 'Postgres', namespace = TENANT, before = {}, chartVersion = '1.0.0', ...more }: Ordered = {},
): Promise<Anything> {
  const values = more.values ?? {
    users: Object.fromEntries(Object.keys(passwords).map((user) => [user, {}])),
  }
  const releases = `${FLUX}/namespaces/${namespace}/helmreleases`
  const release = await admin.create(releases, releaseOf(kind, name, values, { spec: { ...more.spec } }))
  await admin.change(`${releases}/${release.metadata.name}/status`, (each) => {
    each.status = { history: [{ version: 1, status: 'deployed', chartVersion }] }
  })
  if (before !== false) {
    await admin.create(`/api/v1/namespaces/${namespace}/secrets`, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${release.metadata.name}-credentials`, ...before.metadata },
      data: Object.fromEntries(Object.entries(passwords).map(([user, each]) => [user, encoded(each)])),
    })
  }
  return release
}

/** An account Secret as this project leaves one of a release, but for the changes. */
export const accountSecret = (
  release: Anything,
  username: string,
  { origin = 'NotIssued', annotations = {}, metadata = {}, ...more }: AccountSecretChange = {},
): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'kubernetes.io/basic-auth',
  metadata: {
    name: `${release.metadata.name}.${username}.account`,
    labels: { 'credentials.cozystack.io/account': 'true' },
    annotations: {
      'credentials.cozystack.io/origin': origin,
      'credentials.cozystack.io/history': JSON.stringify([
        { operation: 'Create', at: '2026-10-01T08:00:00Z', by: 'somebody' },
      ]),
      'credentials.cozystack.io/release-uid': release.metadata.uid,
      ...annotations,
    },
    ...metadata,
  },
  data: { username: btoa(username), password: btoa('value-of-nobody') },
  ...more,
})

interface AccountSecretChange {
  readonly origin?: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly metadata?: object
  readonly immutable?: boolean
}
