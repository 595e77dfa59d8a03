import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { runCommand } from '../cli/command.ts'
import type { Backend } from '../contract/backend.ts'
import { nodeProcess } from '../contract/backends/node-process.ts'
import { type RealApiServer, startRealApiServer } from '../contract/backends/real-api-server.ts'
import { type Anything, decode } from '../contract/kube.ts'
import { createTenant, type Tenant } from '../contract/tenant.ts'
import { accepts } from '../contract/verify.ts'
import { eventually } from './eventually.ts'
import { type Followed, follow } from './follow.ts'
import { build } from './shipped.ts'
import { read, succeed } from './stand-ins.ts'

const ADOPT = 'credentials.cozystack.io/adopt'
const RELEASE_UID = 'credentials.cozystack.io/release-uid'

let api: RealApiServer
let backend: Backend
beforeAll(async () => {
  api = await startRealApiServer()
  backend = await nodeProcess(api)
  await api.plane.apply(await build('deploy/base', api.plane))
  const sweep = join(import.meta.dirname, '../../deploy/apiserver/sweep.yaml')
  await succeed(api.plane, ['apply', '--server-side', '-f', sweep])
})
afterAll(() => backend?.stop())

describe('docs/restore.md', () => {
  let tenant: Tenant
  let page: Followed
  let password: string
  let before: Anything
  beforeAll(async () => {
    page = await follow('docs/restore.md', api.plane, (block) =>
      `export PATH="$PWD/bin:$PATH"\n${block}`
        .replace('npm ci && ', '')
        .replaceAll('tenant-acme', tenant.namespace),
    )
    tenant = await createTenant(backend)
    await page.run('1. Have the command')
  })
  afterAll(() => page?.remove())

  const find = () => tenant.secret('postgres-orders.web')
  /** Whether the garbage collector has looked at what was created until now: another one with a stale owner is gone. */
  const collected = async () => {
    const { metadata } = await tenant.admin.create(`/api/v1/namespaces/${tenant.namespace}/secrets`, {
      metadata: {
        generateName: 'canary-',
        ownerReferences: [
          {
            apiVersion: 'helm.toolkit.fluxcd.io/v2',
            kind: 'HelmRelease',
            name: 'postgres-orders',
            uid: before.metadata.annotations[RELEASE_UID],
          },
        ],
      },
    })
    await eventually('the canary is collected', async () => {
      const path = `/api/v1/namespaces/${tenant.namespace}/secrets/${metadata.name}`
      return (await tenant.admin.find(path)) === undefined
    })
  }
  const loseTheNamespace = () =>
    succeed(api.plane, ['delete', 'namespace', tenant.namespace, '--timeout=60s'])
  const markedAndSwept = async () =>
    JSON.parse((await page.run('Without the mark')).split('\n').at(-2) ?? '').sweep

  /** An application with a password that somebody holds. */
  beforeEach(async () => {
    tenant = await createTenant(backend)
    await tenant.release('Postgres', 'orders', { users: { web: {} } })
    const minted = await tenant.mint('postgres-orders.web')
    password = minted.body.status.password
    before = await find()
    expect(accepts(decode(before.data.password), password)).toBe(true)
  })

  test('2. to 5. a Secret that was marked survives the collector, and is the new release’s, unchanged', async () => {
    const dry = await page.run('2. Before the backup')
    expect(dry.match(/marked$/gm)).toHaveLength(2)
    expect((await find()).metadata).toMatchObject({ annotations: { [ADOPT]: 'true' } })
    expect(await page.run('3. The backup')).toMatch(/postgres-orders\.web\.account +unchanged$/m)
    await loseTheNamespace()
    await page.run('4. The restore')
    await collected()
    expect((await find()).metadata.uid).not.toBe(before.metadata.uid)
    const shown = await page.run('5. Whose they are now')
    expect(JSON.parse(shown.split('\n').find((line) => line.startsWith('{')) ?? '').sweep).toMatchObject({
      created: 0,
      adopted: 1,
      failures: 0,
    })
    expect(shown).toMatch(/^postgres-orders\.web\.account +postgres-orders +Minted$/m)
    const { metadata, data } = await find()
    const release = await read(api.plane, 'helmrelease', 'postgres-orders', '-n', tenant.namespace)
    expect(metadata.ownerReferences).toMatchObject([{ kind: 'HelmRelease', uid: release.metadata.uid }])
    expect(metadata.annotations).not.toHaveProperty([ADOPT])
    expect(data).toEqual(before.data)
    expect(accepts(decode(data.password), password)).toBe(true)
    const { spec } = await read(api.plane, 'cronjob', 'mintonce-sweep', '-n', 'mintonce')
    expect(spec.suspend).toBe(false)
    // And it goes with that release.
    await succeed(api.plane, ['delete', 'helmrelease', 'postgres-orders', '-n', tenant.namespace])
    await eventually('the Secret is collected', async () => (await find()) === undefined)
  })

  test('one that was not marked is lost, and a sweep has only another password to give', async () => {
    await restoreFrom(before)
    await eventually('the Secret is collected', async () => (await find()) === undefined)
    expect(await markedAndSwept()).toMatchObject({ created: 1, adopted: 0 })
    const { data, metadata } = await find()
    expect(metadata.annotations['credentials.cozystack.io/origin']).toBe('NotIssued')
    expect(accepts(decode(data.password), password)).toBe(false)
  })

  test('one that came back without its owner is a leftover, and kept by a mark that comes late', async () => {
    const { ownerReferences: _, ...metadata } = before.metadata
    await restoreFrom({ ...before, metadata })
    await collected()
    const { stdout } = await runCommand(['sweep', '--kubeconfig', api.plane.kubeconfig])
    expect(JSON.parse(stdout).sweep).toMatchObject({ created: 0, adopted: 0, warnings: 1, failures: 0 })
    const [{ note = '' } = {}] = (await tenant.events()).filter(
      ({ reason }) => reason === 'AccountSecretLeftover',
    )
    expect(note).toContain('or adopt it')
    expect(await markedAndSwept()).toMatchObject({ created: 0, adopted: 1, failures: 0 })
    const { data } = await find()
    expect(data).toEqual(before.data)
  })

  test('published CAs without an owner are deleted, and nothing else is', async () => {
    const path = `/api/v1/namespaces/${tenant.namespace}/secrets`
    const labels = { 'internal.cozystack.io/ca-cert-copy': 'true' }
    for (const [name, type] of [
      ['postgres-orders.tenant-ca', 'Opaque'],
      ['postgres-orders-tls', 'example.org/other'],
    ]) {
      await tenant.admin.create(path, { type, metadata: { name, labels } })
    }
    await page.run('Published CAs')
    const { items } = await tenant.admin.get(path)
    const names = items.map(({ metadata }: Anything) => metadata.name)
    expect(names).toEqual(['postgres-orders-tls', 'postgres-orders.web.account'])
  })

  test('all of it was run', () => {
    expect(page.left()).toEqual([])
  })

  /** The release and this Secret, created again in a new namespace of the same name, as `kubectl apply` would. */
  async function restoreFrom({ metadata, ...secret }: Anything): Promise<void> {
    await loseTheNamespace()
    await succeed(api.plane, ['create', 'namespace', tenant.namespace])
    const { uid: _, resourceVersion: __, creationTimestamp: ___, managedFields: ____, ...rest } = metadata
    await tenant.admin.create(`/api/v1/namespaces/${tenant.namespace}/secrets`, { ...secret, metadata: rest })
    await tenant.release('Postgres', 'orders', { users: { web: {} } })
  }
})
