import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Anything, adminOf, decode } from '../contract/kube.ts'
import { leaks } from '../contract/passwords.ts'
import { accepts } from '../contract/verify.ts'
import { type Aggregated, GROUP, startAggregated } from './aggregated.ts'
import { type AggregatedTenant, createAggregatedTenant } from './aggregated-tenant.ts'
import { eventually } from './eventually.ts'

const WEB = 'postgres-orders.web'
const CACHE = 'redis-cache.default'

let aggregated: Aggregated
let tenant: AggregatedTenant
/** Of a format that stores a verifier, and of one that stores the password. */
const passwords = { verified: [] as string[], plaintext: [] as string[] }

beforeAll(async () => {
  aggregated = await startAggregated()
  tenant = await createAggregatedTenant(aggregated, 'tenant-acme')
  await tenant.release('Postgres', 'orders', { users: { web: {} } })
  await tenant.release('Redis', 'cache', {})
  passwords.verified.push(await mint(WEB), await mint(WEB, ['--as', 'jane']))
  passwords.plaintext.push(await mint(CACHE))
  const { data } = await adminOf(aggregated.plane.adminFetch).get(
    `/api/v1/namespaces/tenant-acme/secrets/${WEB}.account`,
  )
  expect(accepts(decode(data.password), passwords.verified[1] ?? '')).toBe(true)
})
afterAll(() => aggregated?.stop())

async function mint(credential: string, as: readonly string[] = []): Promise<string> {
  const kubectl = as.length === 0 ? tenant.jane : aggregated.plane.kubectl
  const { stdout, stderr } = await kubectl(
    ['create', '--raw', tenant.path(credential, 'mint'), '-f', '-', ...as],
    '{}',
  )
  const password = /"password":"(\w{32})"/.exec(stdout)?.[1]
  if (password === undefined) throw new Error(`no password: ${stderr}`)
  return password
}

async function auditOf(subresource: string): Promise<readonly Anything[]> {
  const lines = (await aggregated.plane.auditLog()).trim().split('\n')
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ objectRef }) => objectRef?.apiGroup === GROUP && objectRef.subresource === subresource)
}

test('audit at level RequestResponse says who minted which account, and has no body', async () => {
  await eventually('the audit log is written', async () => (await auditOf('mint')).length === 3)
  const events = await auditOf('mint')
  for (const event of events) {
    expect(event).toMatchObject({ level: 'RequestResponse', stage: 'ResponseComplete', verb: 'create' })
    expect(event).toMatchObject({ responseStatus: { code: 201 } })
    expect(event).not.toHaveProperty('requestObject')
    expect(event).not.toHaveProperty('responseObject')
  }
  const refs = events.map(
    ({ objectRef: { resource, namespace, name } }) => `${resource} ${namespace}/${name}`,
  )
  expect(refs).toEqual([WEB, WEB, CACHE].map((name) => `credentials tenant-acme/${name}`))
  expect(events.map(({ user }) => user.username)).toEqual(['jane', 'admin', 'jane'])
  expect(events.map(({ impersonatedUser }) => impersonatedUser?.username)).toEqual([
    undefined,
    'jane',
    undefined,
  ])
})

test('the log line of the function names the audit event', async () => {
  const ids = (await auditOf('mint')).map(({ auditID }) => auditID)
  const lines = aggregated.entry
    .output()
    .split('\n')
    .filter((line) => line.includes('"operation":"Mint"'))
  expect(lines.map((line) => JSON.parse(line).auditId)).toEqual(ids)
})

test('OBS-01: no password is in the audit log, the function’s log, an Event, or anything that etcd ever held', async () => {
  const { plane, entry } = aggregated
  const all = [...passwords.verified, ...passwords.plaintext]
  expect(new Set(all).size).toBe(3)
  const events = adminOf(plane.adminFetch)
  await eventually(
    'the Events are there',
    async () => (await events.get('/apis/events.k8s.io/v1/namespaces/tenant-acme/events')).items.length >= 3,
  )
  const texts = [
    await plane.auditLog(),
    entry.output(),
    JSON.stringify(await events.get('/apis/events.k8s.io/v1/events')),
  ]
  for (const text of texts) {
    expect(text.length).toBeGreaterThan(100)
    expect(leaks(text, all)).toEqual([])
  }
  const stored = await aggregated.api.stored()
  expect(leaks(stored, passwords.verified)).toEqual([])
  // The one that a plaintext format stores is found: so the search would find the others.
  expect(leaks(stored, passwords.plaintext)).toEqual(passwords.plaintext)
})
