import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Anything } from '../contract/kube.ts'
import { createTenant, releaseOf, type Tenant } from '../contract/tenant.ts'
import { eventually } from './eventually.ts'
import {
  accountSecretsIn,
  landed,
  releasesIn,
  secretsIn,
  startWebhooked,
  type Webhooked,
} from './webhooked.ts'

/** Passwords that worked before, and writes that know nothing of them, on a real kube-apiserver. */

const ROUNDS = 25
const KIND_LABEL = 'apps.cozystack.io/application.kind'

let webhooked: Webhooked
let tenant: Tenant

beforeAll(async () => {
  webhooked = await startWebhooked()
})
afterAll(() => webhooked?.stop())
beforeEach(async () => {
  tenant = await createTenant(webhooked.backend)
})

const send: Webhooked['send'] = (...asked) => webhooked.send(...asked)
const releases = () => releasesIn(tenant.namespace)
const secrets = () => secretsIn(tenant.namespace)
const create = (name: string, users: object) =>
  send('POST', releases(), releaseOf('Postgres', name, { users }))
const patch = (name: string, change: object) => send('PATCH', `${releases()}/postgres-${name}`, change)
const accountSecrets = () => accountSecretsIn(webhooked, tenant.namespace)
const deploy = async (release: Anything) =>
  send('PATCH', `${releases()}/${release.metadata.name}/status`, { status: landed(release) })

test('a password in the clear from before outlives that its user is taken out and added again', async () => {
  await send('POST', secrets(), {
    metadata: { name: 'postgres-old-credentials' },
    stringData: { web: 'hunter2' },
  })
  const { status, body, warnings } = await create('old', { web: {} })
  expect(status).toBe(201)
  expect(warnings.join()).toContain('has a password from before in Secret')
  await deploy(body)
  await patch('old', { spec: { values: { users: { web: null } } } })
  const added = await patch('old', { spec: { values: { users: { web: {}, report: {} } } } })
  expect(added.status).toBe(200)
  expect(added.warnings.join()).toContain('convert it')
  expect((await accountSecrets()).map(({ metadata }) => metadata.name)).toEqual([
    'postgres-old.report.account',
  ])
})

test('a password in the values from before stays until its account has a Secret', async () => {
  const { metadata, ...rest } = releaseOf('Postgres', 'inline', {
    users: { web: { password: 'hunter2' } },
  }) as Anything
  const { [KIND_LABEL]: kind, ...labels } = metadata.labels
  // Not yet one that the webhooks are asked about.
  await send('POST', releases(), { ...rest, metadata: { ...metadata, labels } })
  const passwordOf = ({ body }: Anything) => body.spec.values.users.web.password
  const labelled = await patch('inline', { metadata: { labels: { [KIND_LABEL]: kind } } })
  expect(passwordOf(labelled)).toBe('hunter2')
  expect(labelled.warnings.join()).toContain('is kept until the account is converted')
  const annotated = await patch('inline', { metadata: { annotations: { touched: 'yes' } } })
  expect(passwordOf(annotated)).toBe('hunter2')
  const over = await patch('inline', { spec: { values: { users: { web: { password: 'correct-horse' } } } } })
  expect(passwordOf(over)).toBe('hunter2')
  const more = await patch('inline', { spec: { values: { users: { more: { password: 'correct-horse' } } } } })
  expect(more.body.spec.values.users).toEqual({ web: { password: 'hunter2' }, more: {} })
  expect(webhooked.output()).not.toContain('hunter2')
})

test('the seed of a create that came to nothing is the Secret of the account that an update adds', async () => {
  await create('again', { web: {} })
  const [seed] = await accountSecrets()
  await send('DELETE', `${releases()}/postgres-again`)
  expect((await create('again', {})).status).toBe(201)
  const { status, body } = await patch('again', { spec: { values: { users: { web: {} } } } })
  expect(status).toBe(200)
  const [taken] = await accountSecrets()
  expect(taken.data).toEqual(seed.data)
  expect(taken.metadata).toMatchObject({
    uid: seed.metadata.uid,
    ownerReferences: [{ uid: body.metadata.uid }],
  })
})

test(`four creates of one name at once, ${ROUNDS} times: one is made, and the others hear of a conflict`, async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => create(`race${round}`, { web: {}, report: {} })),
    )
    const codes = answers.map(({ status }) => status).toSorted()
    expect(new Set(codes), JSON.stringify(answers.map(({ body }) => body.message))).toEqual(
      new Set(codes.includes(201) ? [201, 409] : [409]),
    )
    if (!codes.includes(201)) expect((await create(`race${round}`, { web: {}, report: {} })).status).toBe(201)
  }
  expect(await accountSecrets()).toHaveLength(2 * ROUNDS)
})

test('a create for whose Secrets a quota has no room is refused for good, by the quota’s name', async () => {
  const path = `/api/v1/namespaces/${tenant.namespace}/resourcequotas`
  await send('POST', path, { metadata: { name: 'few' }, spec: { hard: { secrets: '0' } } })
  await send('PATCH', `${path}/few/status`, { status: { hard: { secrets: '0' }, used: { secrets: '0' } } })
  await eventually('the quota is in force', async () => {
    return (await send('POST', `${secrets()}?dryRun=All`, { metadata: { name: 'x' } })).status === 403
  })
  const { status, body } = await create('full', { web: {} })
  expect(status).toBe(403)
  expect(body.message).toContain('resource quota "few" has no room for another Secret')
})

test('an application whose name is generated has its Secret under that name', async () => {
  const { metadata, ...rest } = releaseOf('Postgres', 'x', { users: { web: {} } }) as Anything
  const { name: _name, ...unnamed } = metadata
  const { status, body } = await send('POST', releases(), {
    ...rest,
    metadata: { ...unnamed, generateName: 'postgres-' },
  })
  expect(status).toBe(201)
  const [{ metadata: secret }] = (await accountSecrets()) as [Anything]
  expect(secret.name).toBe(`${body.metadata.name}.web.account`)
})
