import { expect, test } from 'vitest'
import { deriveStored } from '../../src/formats/derive.ts'
import { formats } from '../../src/formats/index.ts'
import { exampleFunction, exampleTenant, exampleUsers, TENANT } from '../../src/sandbox/example.ts'
import { seedExampleAccounts } from '../../src/sandbox/example-accounts.ts'
import { shippedRoles } from '../contract/backends/manifests.ts'
import { asking } from './asking.ts'
import { NOW, testSandbox } from './fixture.ts'

const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length))

async function example() {
  const sandbox = testSandbox({ manifests: [...(await shippedRoles()), ...exampleTenant()] })
  return { sandbox, ask: asking(sandbox.admin) }
}

test('the example tenant has four deployed applications of kinds that are defined', async () => {
  const { ask } = await example()
  const releases = (await ask('GET', `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${TENANT}/helmreleases`))
    .body.items
  const definitions = (await ask('GET', '/apis/cozystack.io/v1alpha1/applicationdefinitions')).body.items
  const kinds = definitions.map(
    ({ spec }: { spec: { application: { kind: string } } }) => spec.application.kind,
  )
  expect(releases.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual([
    'clickhouse-events',
    'mariadb-shop',
    'postgres-orders',
    'redis-cache',
  ])
  for (const { metadata, status } of releases) {
    expect(kinds).toContain(metadata.labels['apps.cozystack.io/application.kind'])
    expect(status).toMatchObject({
      observedGeneration: metadata.generation,
      history: [{ status: 'deployed' }],
    })
    expect(status.conditions[0]).toMatchObject({ type: 'Ready', status: 'True' })
  }
})

test.each([
  ['tenant-admin', { get: true, list: true, mint: true, revoke: true }],
  ['pipeline', { get: true, list: true, mint: true, revoke: true }],
  ['tenant-viewer', { get: true, list: true, mint: false, revoke: false }],
  ['stranger', { get: false, list: false, mint: false, revoke: false }],
])('%s may do what the shipped roles say', async (token, wanted) => {
  const { ask } = await example()
  const user = exampleUsers.find((each) => each.token === token)
  const may = async (verb: string, subresource: string) => {
    const resourceAttributes = {
      verb,
      group: 'core.cozystack.io',
      resource: 'credentials',
      subresource,
      namespace: TENANT,
    }
    const spec = { user: user?.username, groups: user?.groups, resourceAttributes }
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
    return (await ask('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review)).body.status
      .allowed
  }
  expect({
    get: await may('get', ''),
    list: await may('list', ''),
    mint: await may('create', 'mint'),
    revoke: await may('create', 'revoke'),
  }).toEqual(wanted)
})

test('nobody of the tenant reads a Secret; the function does', async () => {
  const { sandbox } = await example()
  const path = `/api/v1/namespaces/${TENANT}/secrets`
  for (const user of exampleUsers) {
    expect((await asking(sandbox.fetchAs(user))('GET', path)).status).toBe(403)
  }
  expect((await asking(sandbox.fetchAs(exampleFunction))('GET', path)).status).toBe(200)
})

test('seeding gives every account but one a Secret that nobody knows the password of', async () => {
  const { sandbox, ask } = await example()
  const passwords: string[] = []
  await seedExampleAccounts(sandbox.admin, {
    now: () => NOW,
    randomBytes,
    derive: async (name, username, password) => {
      passwords.push(password)
      const format = formats.get(name)
      if (format === undefined) throw new Error(`no format ${name}`)
      const stored = await deriveStored(
        format,
        { username, password },
        { randomBytes },
        { valuesPath: undefined },
      )
      return stored.ok ? stored.value : ''
    },
  })
  const { items } = (
    await ask('GET', `/api/v1/namespaces/${TENANT}/secrets?labelSelector=credentials.cozystack.io/account`)
  ).body
  expect(items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual([
    'clickhouse-events.etl.account',
    'mariadb-shop.app.account',
    'postgres-orders.web.account',
    'redis-cache.default.account',
  ])
  expect(new Set(passwords).size).toBe(4)
  for (const { metadata, data } of items) {
    expect(metadata.annotations).toMatchObject({
      'credentials.cozystack.io/origin': 'NotIssued',
      'credentials.cozystack.io/history': expect.stringContaining('"operation":"Create"'),
      'credentials.cozystack.io/release-uid': metadata.ownerReferences[0].uid,
    })
    expect(data.password).not.toBe('')
  }
  // The owners are there: the collector finds nothing to do.
  sandbox.collect()
  expect((await ask('GET', `/api/v1/namespaces/${TENANT}/secrets`)).body.items).toHaveLength(4)
})
