import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAnchoring } from '../contract/anchoring.ts'
import { startSandboxApiServer } from '../contract/backends/sandbox-api-server.ts'
import { type Workerd, workerd } from '../contract/backends/workerd.ts'
import { decode } from '../contract/kube.ts'
import { createTenant, type Tenant } from '../contract/tenant.ts'

let worker: Workerd
let tenant: Tenant
beforeAll(async () => {
  worker = await workerd(await startSandboxApiServer())
  tenant = await createTenant(worker)
})
afterAll(() => worker?.stop())

const definition = '/apis/cozystack.io/v1alpha1/applicationdefinitions/clickhouse'

test('a cron trigger is a sweep, under the name of the function, with its Events', async () => {
  await tenant.release('ClickHouse', 'events', { users: { etl: {} } })
  expect(await worker.cron()).toBe('ok')
  const { metadata } = await tenant.secret('clickhouse-events.etl')
  expect(metadata.annotations['credentials.cozystack.io/history']).toContain(
    '"by":"system:serviceaccount:mintonce:mintonce"',
  )
  await expect
    .poll(async () => (await tenant.events()).map(({ reason }) => reason))
    .toEqual(['ValuesNotWired'])
})

test('one of many kinds with a wrong definition is no failure of the trigger, and stands in the log', async () => {
  await tenant.admin.change(definition, ({ spec }) => {
    spec.credentials.format.name = 'unheard-of'
  })
  expect(await worker.cron()).toBe('ok')
  await expect.poll(() => worker.logged()).toContain('"event":"sweep_skipped","kind":"ClickHouse"')
})

test('it has every CA published that is declared, and writes nothing the second time', async () => {
  const acme = await createAnchoring({ backend: () => worker, tenant: async () => tenant })
  await acme.declare()
  await acme.leave()
  expect(await worker.cron()).toBe('ok')
  const published = await acme.published()
  expect(Object.keys(published.data)).toEqual(['ca.crt'])
  expect(decode(published.data['ca.crt'])).toBe(acme.ca.certificate)
  expect(await acme.ready()).toBe('True Projected')
  expect(await worker.cron()).toBe('ok')
  expect(await acme.published()).toEqual(published)
  await expect
    .poll(() => worker.logged())
    .toMatch(/"event":"anchor_sweep","declarations":1,"ready":1,"written":0,"failures":0/)
})

test('a sweep that fails is an exception, which the runtime counts', async () => {
  await tenant.admin.remove('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/mintonce')
  expect(await worker.cron()).toBe('exception')
  await expect.poll(() => worker.logged()).toContain('"event":"sweep_failed","failure":"kube_forbidden"')
})
