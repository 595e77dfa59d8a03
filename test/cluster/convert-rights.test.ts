import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { changeMariadbRoot } from '../../src/conversion/rotate/mariadb-root.ts'
import type { RotationServices } from '../../src/conversion/rotate/rotator.ts'
import type { Fetch } from '../../src/core/deps.ts'
import { ok } from '../../src/core/result.ts'
import type { ExecTarget } from '../../src/k8s/exec-in-pod.ts'
import { inClusterSend } from '../../src/k8s/node-in-cluster.ts'
import { type ControlPlane, startControlPlane } from '../control-plane/start.ts'
import { fetchOver } from '../helpers/fetch-over.ts'
import { eventually } from './eventually.ts'
import { build } from './shipped.ts'

const NAMESPACE = 'tenant-acme'
const PLATFORM = 'mintonce'
/** Neither a tenant's nor mintonce's own. */
const OTHER = 'cozy-system'
const ACCOUNT = 'kubernetes.io/basic-auth'
const TOKEN = 'kubernetes.io/service-account-token'
const ORIGIN = 'credentials.cozystack.io/origin'

const secrets = (namespace = NAMESPACE) => `/api/v1/namespaces/${namespace}/secrets`
const configMaps = (namespace = PLATFORM) => `/api/v1/namespaces/${namespace}/configmaps`
const RELEASES = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${NAMESPACE}/helmreleases`

let plane: ControlPlane
let asAdmin: Client
let asHook: Client
let asJob: Client

beforeAll(async () => {
  plane = await startControlPlane()
  for (const folder of ['deploy/base', 'deploy/convert/hook', 'deploy/convert/job']) {
    await plane.apply(await build(folder, plane))
  }
  await plane.apply(SURROUNDINGS)
  asAdmin = createClient(plane, plane.adminFetch)
  asHook = createClient(plane, await fetchAs('mintonce-convert-hook'))
  asJob = createClient(plane, await fetchAs('mintonce-convert-job'))
  await asAdmin('POST', RELEASES, RELEASE)
  const refused = async (answer: Promise<Answer>) => (await answer).status === 422
  await eventually('every policy is in force', async () => {
    const inForce = await Promise.all([
      refused(asHook('POST', `${secrets()}?dryRun=All`, secret('probe', 'Opaque'))),
      refused(asJob('POST', `${secrets()}?dryRun=All`, secret('probe', 'Opaque'))),
      refused(asHook('POST', `${configMaps()}?dryRun=All`, configMap('probe'))),
      refused(asJob('PATCH', `${RELEASES}/postgres-orders?dryRun=All`, [LABELLED])),
      refused(asJob('POST', exec('db-0', 'mariadb', ['true']))),
    ])
    return inForce.every(Boolean)
  })
})

afterAll(() => plane?.stop())

describe.each([
  ['hook', () => asHook],
  ['job', () => asJob],
] as const)('Secrets: the %s', (_part, as) => {
  test('creates an account Secret that it converts', async () => {
    const name = `orders.${_part}.account`
    expect(await as()('POST', secrets(), secret(name, ACCOUNT, 'Migrated'))).toMatchObject({ status: 201 })
    const again = { ...secret(name, ACCOUNT, 'Migrated'), data: { password: 'bmV3' } }
    expect(await as()('PUT', `${secrets()}/${name}`, again)).toMatchObject({ status: 200 })
  })

  test('replaces a seed', async () => {
    const name = `seeded.${_part}.account`
    await asAdmin('POST', secrets(), secret(name, ACCOUNT, 'NotIssued'))
    expect(await as()('PUT', `${secrets()}/${name}`, secret(name, ACCOUNT, 'Migrated'))).toMatchObject({
      status: 200,
    })
  })

  test.each(['Minted', 'Revoked', undefined])('does not replace one whose origin is %s', async (origin) => {
    const name = `held-${String(origin).toLowerCase()}.${_part}.account`
    await asAdmin('POST', secrets(), secret(name, ACCOUNT, origin))
    expect(await as()('PUT', `${secrets()}/${name}`, secret(name, ACCOUNT, 'Migrated'))).toMatchObject({
      status: 422,
    })
  })

  test.each([
    ['a token of a ServiceAccount', 'bait', TOKEN, 'Migrated'],
    ['such a token under the name of an account Secret', 'bait.account', TOKEN, 'Migrated'],
    ['an account Secret as if it were minted', 'minted.account', ACCOUNT, 'Minted'],
    ['an account Secret of another type', 'opaque.account', 'Opaque', 'Migrated'],
    ['a Secret of the right type and another name', 'web', ACCOUNT, 'Migrated'],
    ['a Secret like those from before', 'postgres-new-credentials', 'Opaque', undefined],
    ['a CA of an application', 'orders.tenant-ca', 'Opaque', undefined],
    ['a Helm release', 'sh.helm.release.v1.orders.v2', 'helm.sh/release.v1', undefined],
  ])('does not create %s', async (_, name, type, origin) => {
    const answer = await as()('POST', secrets(), secret(name, type, origin))
    expect(answer).toMatchObject({ status: 422, message: expect.stringContaining('of a conversion may') })
    expect(await asAdmin('GET', `${secrets()}/${name}`)).toMatchObject({ status: 404 })
  })

  test('creates and replaces none that is not a tenant’s', async () => {
    const name = `system.${_part}.account`
    const answer = await as()('POST', secrets(OTHER), secret(name, ACCOUNT, 'Migrated'))
    expect(answer).toMatchObject({ status: 422, message: expect.stringContaining(OTHER) })
    await asAdmin('POST', secrets(OTHER), secret(name, ACCOUNT, 'NotIssued'))
    expect(await as()('PUT', `${secrets(OTHER)}/${name}`, secret(name, ACCOUNT, 'Migrated'))).toMatchObject({
      status: 422,
    })
  })

  test('does not delete an account Secret', async () => {
    const name = `kept.${_part}.account`
    await asAdmin('POST', secrets(), secret(name, ACCOUNT, 'NotIssued'))
    expect((await as()('DELETE', `${secrets()}/${name}`)).status).toBe(_part === 'hook' ? 403 : 422)
  })

  test('does not list them, nor take them by a patch', async () => {
    expect(await as()('GET', secrets())).toMatchObject({ status: 403 })
    expect(await as()('PATCH', `${secrets()}/orders.${_part}.account`, [])).toMatchObject({ status: 403 })
  })
})

describe('the Secret with the passwords from before', () => {
  const NAME = 'postgres-orders-credentials'
  const path = () => `${secrets()}/${NAME}`
  beforeAll(async () => {
    await asAdmin('POST', secrets(), secret(NAME, 'Opaque'))
  })

  test('is nothing that the hook changes or deletes', async () => {
    expect(await asHook('GET', path())).toMatchObject({ status: 200 })
    expect(await asHook('PUT', path(), secret(NAME, 'Opaque'))).toMatchObject({ status: 422 })
    expect(await asHook('DELETE', path())).toMatchObject({ status: 403 })
  })

  test('gets no key by the job, and loses some', async () => {
    const more = { ...secret(NAME, 'Opaque'), data: { username: 'd2Vi', password: 'b2xk', more: 'b2xk' } }
    expect(await asJob('PUT', path(), more)).toMatchObject({
      status: 422,
      message: expect.stringContaining('may add no key'),
    })
    const less = { ...secret(NAME, 'Opaque'), data: { username: 'bmV3' } }
    expect(await asJob('PUT', path(), less)).toMatchObject({ status: 200, data: { username: 'bmV3' } })
    expect(await asJob('DELETE', path())).toMatchObject({ status: 200 })
  })

  test.each([
    ['of another type', 'typed-credentials', ACCOUNT, NAMESPACE],
    ['of another name', 'postgres-orders-ca', 'Opaque', NAMESPACE],
    ['of the platform', 'function-credentials', 'Opaque', PLATFORM],
    ['of another part of the platform', 'cozystack-credentials', 'Opaque', OTHER],
    ['a Helm release', 'sh.helm.release.v1.orders.v1', 'helm.sh/release.v1', NAMESPACE],
  ])('one %s is none', async (_, name, type, namespace) => {
    await asAdmin('POST', secrets(namespace), secret(name, type))
    for (const method of ['PUT', 'DELETE']) {
      const body = method === 'PUT' ? secret(name, type) : undefined
      expect(await asJob(method, `${secrets(namespace)}/${name}`, body)).toMatchObject({ status: 422 })
    }
    expect(await asAdmin('GET', `${secrets(namespace)}/${name}`)).toMatchObject({ status: 200 })
  })
})

describe('what is kept of a rotation', () => {
  const NAME = 'credential-rotation-1'
  test('is created and deleted by the job, in the namespace of the platform only', async () => {
    expect(await asJob('POST', secrets(), secret(NAME, 'Opaque'))).toMatchObject({ status: 422 })
    expect(await asJob('POST', secrets(PLATFORM), secret(NAME, TOKEN))).toMatchObject({ status: 422 })
    expect(await asJob('POST', secrets(PLATFORM), secret(NAME, 'Opaque'))).toMatchObject({ status: 201 })
    expect(await asJob('DELETE', `${secrets(PLATFORM)}/${NAME}`)).toMatchObject({ status: 200 })
    expect(await asHook('POST', secrets(PLATFORM), secret(NAME, 'Opaque'))).toMatchObject({ status: 422 })
  })
})

describe('the record', () => {
  test('is created by the hook, under its own name', async () => {
    for (const name of ['credential-conversion', 'credential-conversion-1']) {
      expect(await asHook('POST', configMaps(), configMap(name))).toMatchObject({ status: 201 })
      for (const as of [asHook, asJob]) {
        expect(await as('PUT', `${configMaps()}/${name}`, configMap(name))).toMatchObject({ status: 200 })
      }
    }
    expect(await asHook('POST', configMaps(), configMap('credential-conversion-x'))).toMatchObject({
      status: 422,
    })
    expect(await asHook('PUT', `${configMaps()}/kube-root-ca.crt`, configMap('x'))).toMatchObject({
      status: 403,
    })
    expect(await asHook('POST', configMaps(NAMESPACE), configMap('x'))).toMatchObject({ status: 403 })
    expect(await asJob('POST', configMaps(), configMap('credential-conversion-2'))).toMatchObject({
      status: 403,
    })
  })
})

describe('HelmReleases', () => {
  const path = `${RELEASES}/postgres-orders`
  const patch = (...operations: readonly object[]) => asJob('PATCH', `${path}?dryRun=All`, operations)

  test('the job changes none that is not a tenant’s', async () => {
    await asAdmin('POST', RELEASES.replace(NAMESPACE, OTHER), RELEASE)
    const operations = [{ op: 'add', path: '/spec/suspend', value: true }]
    const other = `${path.replace(NAMESPACE, OTHER)}?dryRun=All`
    expect(await asJob('PATCH', other, operations)).toMatchObject({
      status: 422,
      message: expect.stringContaining('namespaces of tenants'),
    })
  })

  test('the hook changes none', async () => {
    expect(await asHook('PATCH', path, [])).toMatchObject({ status: 403 })
  })

  test.each([
    ['suspends', [{ op: 'add', path: '/spec/suspend', value: true }]],
    ['takes a password out', [{ op: 'remove', path: '/spec/values/users/web/password' }]],
    [
      'takes all of them out, and asks for an upgrade',
      [
        { op: 'remove', path: '/spec/values/users/web/password' },
        { op: 'remove', path: '/spec/values/users/report/password' },
        { op: 'add', path: '/metadata/annotations/reconcile.fluxcd.io~1forceAt', value: 'now' },
        { op: 'add', path: '/metadata/annotations/reconcile.fluxcd.io~1requestedAt', value: 'now' },
        {
          op: 'add',
          path: '/metadata/annotations/credentials.cozystack.io~1suspended-for-rotation',
          value: 'now',
        },
      ],
    ],
  ])('the job %s', async (_, operations) => {
    expect(await patch(...operations)).toMatchObject({ status: 200 })
  })

  test.each([
    ['a label', [{ op: 'add', path: '/metadata/labels/more', value: 'x' }]],
    ['a finalizer', [{ op: 'add', path: '/metadata/finalizers', value: ['x.example.org/y'] }]],
    ['somebody’s annotation', [{ op: 'replace', path: '/metadata/annotations/kept', value: 'x' }]],
    ['another annotation', [{ op: 'add', path: '/metadata/annotations/more', value: 'x' }]],
    ['that annotations go', [{ op: 'remove', path: '/metadata/annotations/kept' }]],
    ['the chart', [{ op: 'replace', path: '/spec/chartRef/name', value: 'x' }]],
    ['who applies it', [{ op: 'add', path: '/spec/serviceAccountName', value: 'x' }]],
    ['where values come from', [{ op: 'remove', path: '/spec/valuesFrom' }]],
    ['a value', [{ op: 'add', path: '/spec/values/more', value: 1 }]],
    ['another value', [{ op: 'replace', path: '/spec/values/size', value: '2Gi' }]],
    ['that a value goes', [{ op: 'remove', path: '/spec/values/size' }]],
    ['that all go', [{ op: 'remove', path: '/spec/values' }]],
    ['a password', [{ op: 'replace', path: '/spec/values/users/web/password', value: 'x' }]],
    ['a new password', [{ op: 'add', path: '/spec/values/users/plain/password', value: 'x' }]],
    ['a user', [{ op: 'add', path: '/spec/values/users/more', value: {} }]],
    ['that a user goes', [{ op: 'remove', path: '/spec/values/users/plain' }]],
    ['what a user may', [{ op: 'replace', path: '/spec/values/users/web/readonly', value: false }]],
    ['that users are none', [{ op: 'replace', path: '/spec/values/users', value: null }]],
  ])('not %s', async (_, operations) => {
    const answer = await patch(...operations)
    expect(answer).toMatchObject({ status: 422, message: expect.stringContaining('the job of a conversion') })
    expect(await asAdmin('PATCH', `${path}?dryRun=All`, operations)).toMatchObject({ status: 200 })
  })
})

describe('commands in pods', () => {
  test.each([
    ['db-0', 'mariadb', NAMESPACE, 400],
    ['db-0', 'sidecar', NAMESPACE, 422],
    ['db-0', undefined, NAMESPACE, 422],
    ['db-0', 'mariadb', PLATFORM, 422],
    ['db-0', 'mariadb', 'kube-system', 422],
    ['db-0', 'mariadb', OTHER, 422],
  ])('pod %s, container %s in %s: %i', async (pod, container, namespace, status) => {
    // 400: it comes to the point where a node is asked for, and the pod has none.
    const path = exec(pod, container, await rotationCommand(), namespace)
    expect(await asJob('POST', path)).toMatchObject({ status })
    expect(await asHook('POST', path)).toMatchObject({ status: 403 })
  })

  test('and both verbs are needed: a WebSocket is a GET, and kube-apiserver asks for create as well', async () => {
    const asGetter = createClient(plane, await fetchAs('getter'))
    const path = exec('db-0', 'mariadb', await rotationCommand())
    expect(await asGetter('GET', path)).toMatchObject({ status: 403 })
    expect(await asJob('GET', path)).toMatchObject({ status: 400 })
  })

  test('none with a terminal, and no other command', async () => {
    const command = await rotationCommand()
    expect(await asJob('POST', `${exec('db-0', 'mariadb', command)}&tty=true`)).toMatchObject({ status: 422 })
    for (const other of [
      ['sh'],
      ['sh', '-c', 'env'],
      [...command, 'more'],
      [...command.slice(0, -1), `${command.at(-1)}\nid`],
    ]) {
      expect(await asJob('POST', exec('db-0', 'mariadb', other))).toMatchObject({ status: 422 })
    }
  })
})

/** What a rotation runs in a pod. */
async function rotationCommand(): Promise<readonly string[]> {
  const commands: (readonly string[])[] = []
  const services = {
    conversionKube: {
      listPods: async () => ok({ items: [{ metadata: MEMBER }], continue: undefined }),
    },
    exec: async ({ command }: ExecTarget) => {
      commands.push(command)
      return ok({ stdout: 'root@localhost\n', stderr: '', exitCode: 0 })
    },
    deps: { now: () => Date.now(), randomBytes: (length: number) => new Uint8Array(length) },
  } as unknown as RotationServices
  const target = { namespace: NAMESPACE, release: 'db' }
  const passwords = { pending: 'pending', known: ['known'] }
  await changeMariadbRoot(services, target, passwords)
  const [command] = commands
  if (command === undefined) throw new Error('it runs nothing')
  return command
}

/** A pod as the StatefulSet of a MariaDB makes it. */
const MEMBER = {
  name: 'db-0',
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: '1', controller: true }],
}

const LABELLED = { op: 'add', path: '/metadata/labels/more', value: 'x' }

function exec(
  pod: string,
  container: string | undefined,
  command: readonly string[],
  namespace = NAMESPACE,
): string {
  const query = new URLSearchParams({ stdin: 'true', stdout: 'true', ...(container && { container }) })
  for (const each of command) query.append('command', each)
  return `/api/v1/namespaces/${namespace}/pods/${pod}/exec?${query}`
}

const RELEASE = {
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  metadata: { name: 'postgres-orders', labels: { some: 'label' }, annotations: { kept: 'yes' } },
  spec: {
    interval: '5m',
    chartRef: { kind: 'ExternalArtifact', name: 'postgres', namespace: 'cozy-system' },
    valuesFrom: [{ kind: 'Secret', name: 'cozystack-values' }],
    values: {
      size: '1Gi',
      users: { web: { password: 'one', readonly: true }, report: { password: 'two' }, plain: {}, none: null },
    },
  },
}

const pod = (namespace: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'db-0', namespace },
  spec: {
    securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
    containers: ['mariadb', 'sidecar'].map((name) => ({
      name,
      image: 'mariadb',
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    })),
  },
})

const RBAC = 'rbac.authorization.k8s.io'

const SURROUNDINGS: readonly object[] = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'getter', namespace: PLATFORM } },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'getter' },
    rules: [{ apiGroups: [''], resources: ['pods/exec'], verbs: ['get'] }],
  },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'getter' },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'getter' },
    subjects: [{ kind: 'ServiceAccount', name: 'getter', namespace: PLATFORM }],
  },
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'victim', namespace: NAMESPACE } },
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OTHER } },
  ...[NAMESPACE, PLATFORM, 'kube-system', OTHER].flatMap((namespace) => [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } },
    pod(namespace),
  ]),
]

/** A token Secret is for the ServiceAccount `victim`. */
const secret = (name: string, type: string, origin?: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name,
    annotations: {
      ...(type === TOKEN && { 'kubernetes.io/service-account.name': 'victim' }),
      ...(origin !== undefined && { [ORIGIN]: origin }),
    },
  },
  type,
  data: { username: 'd2Vi', password: 'b2xk' },
})

const configMap = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { some: 'text' },
})

interface Answer {
  readonly status: number
  readonly message?: unknown
  readonly data?: unknown
}

type Client = (method: string, path: string, body?: object) => Promise<Answer>

const createClient =
  ({ url }: ControlPlane, fetch: Fetch): Client =>
  async (method, path, body) => {
    const type = method === 'PATCH' ? 'application/json-patch+json' : 'application/json'
    const init = { method, ...(body && { body: JSON.stringify(body), headers: { 'content-type': type } }) }
    const response = await fetch(new Request(`${url}${path}`, init))
    return { ...((await response.json()) as object), status: response.status }
  }

/** As a pod of that ServiceAccount. */
async function fetchAs(serviceAccount: string): Promise<Fetch> {
  const tokenFile = join(plane.folder, `${serviceAccount}.token`)
  await writeFile(tokenFile, await plane.tokenOf(PLATFORM, serviceAccount))
  return fetchOver(inClusterSend({ url: plane.url, caFile: plane.caFile, tokenFile, now: () => Date.now() }))
}
