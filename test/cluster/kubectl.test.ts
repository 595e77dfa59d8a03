import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Admin, adminOf, decode } from '../contract/kube.ts'
import { accepts } from '../contract/verify.ts'
import type { Finished } from '../control-plane/command.ts'
import { type Aggregated, GROUP, startAggregated } from './aggregated.ts'
import { type AggregatedTenant, createAggregatedTenant } from './aggregated-tenant.ts'
import { eventually } from './eventually.ts'

let aggregated: Aggregated
let tenant: AggregatedTenant
let admin: Admin

beforeAll(async () => {
  aggregated = await startAggregated()
  admin = adminOf(aggregated.plane.adminFetch)
  tenant = await createAggregatedTenant(aggregated, 'tenant-acme')
  await tenant.release('Postgres', 'orders', { users: { web: {}, report: {} } })
  await tenant.release('MariaDB', 'shop', { users: { app: {} } })
  for (const credential of ['postgres-orders.web', 'postgres-orders.report', 'mariadb-shop.app']) {
    const minted = await tenant.jane(['create', '--raw', tenant.path(credential, 'mint'), '-f', '-'], '{}')
    expect(minted).toMatchObject({ code: 0 })
  }
})
afterAll(() => aggregated?.stop())

/** What kubectl printed, when it had nothing to complain about. */
function printed({ code, stdout, stderr }: Finished): string {
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}
const lines = (finished: Finished): readonly (readonly string[])[] =>
  printed(finished)
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/\s{2,}/))
const objects = (finished: Finished) => JSON.parse(printed(finished))

const IN = ['-n', 'tenant-acme']
const NAMES = ['mariadb-shop.app', 'postgres-orders.report', 'postgres-orders.web']

describe('kubectl get', () => {
  test('prints a table', async () => {
    expect(lines(await tenant.jane(['get', 'credentials', ...IN]))).toEqual([
      ['NAME', 'APPLICATION', 'USER', 'ORIGIN', 'AGE'],
      ['mariadb-shop.app', 'shop', 'app', 'Minted', expect.stringMatching(/^\d+[sm]/)],
      ['postgres-orders.report', 'orders', 'report', 'Minted', expect.stringMatching(/^\d+[sm]/)],
      ['postgres-orders.web', 'orders', 'web', 'Minted', expect.stringMatching(/^\d+[sm]/)],
    ])
  })

  test('-o wide has kind, time and person', async () => {
    const [header, row] = lines(
      await tenant.jane(['get', 'credential', 'postgres-orders.web', '-o', 'wide', ...IN]),
    )
    expect(header).toEqual(['NAME', 'APPLICATION', 'USER', 'ORIGIN', 'AGE', 'KIND', 'ISSUED', 'BY'])
    expect(row?.slice(5)).toEqual(['Postgres', expect.stringMatching(/^\d{4}-.*Z$/), 'jane'])
  })

  test('-o yaml is the Credential and no Secret', async () => {
    const text = printed(
      await tenant.jane(['get', 'credentials', 'postgres-orders.web', '-o', 'yaml', ...IN]),
    )
    const secret = await admin.get('/api/v1/namespaces/tenant-acme/secrets/postgres-orders.web.account')
    expect(parse(text)).toMatchObject({
      apiVersion: `${GROUP}/v1alpha1`,
      kind: 'Credential',
      metadata: { name: 'postgres-orders.web', namespace: 'tenant-acme', uid: secret.metadata.uid },
      spec: { application: { apiGroup: 'apps.cozystack.io', kind: 'Postgres', name: 'orders' }, user: 'web' },
      status: { password: { origin: 'Minted', by: 'jane' }, history: [{ operation: 'Mint', by: 'jane' }] },
    })
    expect(text).not.toContain('SCRAM')
    expect(text).not.toContain(secret.data.password)
  })

  test('-o name and -o jsonpath', async () => {
    expect(
      printed(await tenant.jane(['get', 'credentials', '-o', 'name', ...IN]))
        .trim()
        .split('\n'),
    ).toEqual(NAMES.map((name) => `credential.${GROUP}/${name}`))
    const path = 'jsonpath={.items[*].status.password.by}'
    expect(printed(await tenant.jane(['get', 'credentials', '-o', path, ...IN]))).toBe('jane jane jane')
  })

  test.each([
    ['-l', 'apps.cozystack.io/application.kind=MariaDB', ['mariadb-shop.app']],
    ['-l', 'apps.cozystack.io/application.name in (orders,other)', NAMES.slice(1)],
    ['-l', 'apps.cozystack.io/application.kind!=MariaDB', NAMES.slice(1)],
    ['--field-selector', 'metadata.name=postgres-orders.web', ['postgres-orders.web']],
    ['--field-selector', 'metadata.name!=postgres-orders.web', NAMES.slice(0, 2)],
    ['--chunk-size', '1', NAMES],
  ])('%s %s', async (flag, value, names) => {
    const { items } = objects(await tenant.jane(['get', 'credentials', flag, value, '-o', 'json', ...IN]))
    expect(items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual(names)
  })

  test('a label that is not shown cannot be selected by', async () => {
    const { code, stderr } = await tenant.jane(['get', 'credentials', '-l', 'cnpg.io/reload=true', ...IN])
    expect(code).toBe(1)
    expect(stderr).toContain('labelSelector may name these labels only')
  })

  test('what is not there is NotFound in words, and with --ignore-not-found nothing', async () => {
    const { code, stderr } = await tenant.jane(['get', 'credentials', 'postgres-orders.none', ...IN])
    expect(code).toBe(1)
    expect(stderr).toBe(
      `Error from server (NotFound): credentials.${GROUP} "postgres-orders.none" not found\n`,
    )
    expect(
      printed(await tenant.jane(['get', 'credentials', 'postgres-orders.none', '--ignore-not-found', ...IN])),
    ).toBe('')
  })

  test('a namespace without any is empty', async () => {
    const { stdout, stderr } = await aggregated.plane.kubectl(['get', 'credentials', '-n', 'default'])
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: 'No resources found in default namespace.\n' })
  })

  test('all namespaces, a watch, and writes are refused in words', async () => {
    const { plane } = aggregated
    const refusals = await Promise.all([
      plane.kubectl(['get', 'credentials', '-A']),
      plane.kubectl(['get', 'credentials', '--watch-only', '--request-timeout=10s', ...IN]),
      plane.kubectl(['delete', 'credentials', 'postgres-orders.web', ...IN]),
      plane.kubectl(['label', 'credentials', 'postgres-orders.web', 'a=b', ...IN]),
      plane.kubectl(
        ['create', '-f', '-', ...IN],
        JSON.stringify({
          apiVersion: `${GROUP}/v1alpha1`,
          kind: 'Credential',
          metadata: { name: 'postgres-orders.web' },
        }),
      ),
    ])
    for (const { code, stderr } of refusals) {
      expect(code).toBe(1)
      expect(stderr).toMatch(/MethodNotAllowed|not allow this method/)
    }
    const [all, watch, ...writes] = refusals.map(({ stderr }) => stderr)
    expect(all).toContain('credentials are listed by namespace only')
    expect(watch).toContain('watch is not supported on credentials: get or list them again')
    for (const stderr of writes)
      expect(stderr).toContain('credentials are read only. POST to .../credentials/NAME/mint')
  })
})

describe('kubectl says what there is', () => {
  test('api-resources', async () => {
    const rows = lines(await tenant.jane(['api-resources', '--api-group', GROUP, '--no-headers']))
    expect(rows).toEqual([['credentials', `${GROUP}/v1alpha1`, 'true', 'Credential']])
    const verbs = printed(
      await tenant.jane(['api-resources', '--api-group', GROUP, '--no-headers', '-o', 'wide']),
    )
    expect(verbs).toContain('get,list')
  })

  test('explain', async () => {
    await eventually(
      'the schema is merged',
      async () => (await tenant.jane(['explain', 'credentials'])).code === 0,
    )
    const text = printed(await tenant.jane(['explain', 'credentials.status.password']))
    expect(text).toContain(`GROUP:      ${GROUP}`)
    expect(text).toContain('origin\t<string>')
  })

  test.each([
    ['jane', ['get', 'list'], true],
    ['victor', ['get', 'list'], false],
    ['bob', [], false],
  ] as const)('auth can-i: %s reads %j, mints: %j', async (who, reads, mints) => {
    const canI = async (...question: readonly string[]) =>
      (await tenant[who](['auth', 'can-i', ...question, ...IN])).stdout.trim()
    for (const verb of ['get', 'list']) {
      expect(await canI(verb, `credentials.${GROUP}`)).toBe(
        (reads as readonly string[]).includes(verb) ? 'yes' : 'no',
      )
    }
    for (const call of ['mint', 'revoke']) {
      const asked = await canI('create', `credentials.${GROUP}`, '--subresource', call)
      expect(asked, call).toBe(mints ? 'yes' : 'no')
    }
    expect(await canI('get', 'secrets')).toBe('no')
  })
})

describe('kubectl create --raw', () => {
  test('mints: the answer has the password, the cluster what accepts it', async () => {
    const answer = objects(
      await tenant.jane(['create', '--raw', tenant.path('postgres-orders.web', 'mint'), '-f', '-'], '{}'),
    )
    const { data } = await admin.get('/api/v1/namespaces/tenant-acme/secrets/postgres-orders.web.account')
    expect(accepts(decode(data.password), answer.status.password)).toBe(true)
  })

  test('an empty body has no preconditions; a stale one is a conflict, in words', async () => {
    const raw = ['create', '--raw', tenant.path('postgres-orders.web', 'mint'), '-f', '-']
    expect(objects(await tenant.jane(raw, ''))).toMatchObject({ kind: 'CredentialRequest' })
    const stale = JSON.stringify({ spec: { preconditions: { resourceVersion: '1' } } })
    const { code, stderr } = await tenant.jane(raw, stale)
    expect(code).toBe(1)
    expect(stderr).toMatch(/changed: password issued by jane at/)
  })

  test('a dry run shows no password and changes nothing', async () => {
    const before = await admin.get('/api/v1/namespaces/tenant-acme/secrets/postgres-orders.web.account')
    const raw = ['create', '--raw', `${tenant.path('postgres-orders.web', 'mint')}?dryRun=All`, '-f', '-']
    expect(objects(await tenant.jane(raw, '{}')).status).not.toHaveProperty('password')
    const after = await admin.get('/api/v1/namespaces/tenant-acme/secrets/postgres-orders.web.account')
    expect(after).toEqual(before)
  })

  test('who may look may not mint, and who may nothing is told by kube-apiserver', async () => {
    const raw = ['create', '--raw', tenant.path('postgres-orders.web', 'mint'), '-f', '-']
    for (const who of ['victor', 'bob'] as const) {
      const { code, stderr } = await tenant[who](raw, '{}')
      expect(code).toBe(1)
      expect(stderr).toContain(
        `User "${who}" cannot create resource "credentials/mint" in API group "${GROUP}"`,
      )
    }
  })
})

describe('kubectl --as', () => {
  test('an administrator acts as somebody else: their rights count, and the record names them', async () => {
    const { plane } = aggregated
    const as = ['--as', 'jane', '--as-group', 'system:authenticated', '--as-uid', 'u-7']
    const raw = ['create', '--raw', tenant.path('mariadb-shop.app', 'mint'), '-f', '-']
    expect(objects(await plane.kubectl([...raw, ...as], '{}')).status.password).toMatch(/^\w{32}$/)
    const shown = objects(await tenant.jane(['get', 'credentials', 'mariadb-shop.app', '-o', 'json', ...IN]))
    expect(shown.status.history[0]).toMatchObject({ operation: 'Mint', by: 'jane' })
    const refused = await plane.kubectl([...raw, '--as', 'bob'], '{}')
    expect(refused.stderr).toContain('User "bob" cannot create resource "credentials/mint"')
  })

  test('by a group only', async () => {
    const listed = await aggregated.plane.kubectl([
      'get',
      'credentials',
      '-o',
      'name',
      '--as',
      'nobody',
      '--as-group',
      'acme-dba',
      ...IN,
    ])
    expect(printed(listed).trim().split('\n')).toHaveLength(3)
  })

  test('an administrator of the cluster needs no role of ours', async () => {
    expect(
      printed(await aggregated.plane.kubectl(['get', 'credentials', '-o', 'name', ...IN]))
        .trim()
        .split('\n'),
    ).toHaveLength(3)
  })

  test('a role with resourceNames is good for that name, by get and by field selector', async () => {
    const ruth = await aggregated.kubectlAs('ruth', [])
    await tenant.bindRole('ruth', [
      {
        apiGroups: [GROUP],
        resources: ['credentials'],
        resourceNames: ['postgres-orders.web'],
        verbs: ['get', 'list'],
      },
    ])
    expect(printed(await ruth(['get', 'credentials', 'postgres-orders.web', '-o', 'name', ...IN]))).toContain(
      'postgres-orders.web',
    )
    const selected = [
      'get',
      'credentials',
      '--field-selector',
      'metadata.name=postgres-orders.web',
      '-o',
      'name',
      ...IN,
    ]
    expect(printed(await ruth(selected))).toContain('postgres-orders.web')
    expect((await ruth(['get', 'credentials', ...IN])).stderr).toContain('User "ruth" cannot list resource')
  })
})
