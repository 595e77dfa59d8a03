import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { findAccount } from '../../../src/credentials/accounts.ts'
import { parseRules } from '../../../src/definitions/parse.ts'
import { resolveDeclared } from '../../../src/definitions/resolve.ts'
import { late, misbehaving } from '../../helpers/misbehaving.ts'
import { localConfig, localWebhooks } from '../../helpers/webhook-blocks.ts'
import {
  answering,
  type TestAuthority,
  testAuthority,
  type WebhookServer,
  webhookServer,
} from '../../helpers/webhook-server.ts'
import { definitionWith, releaseWith } from '../definition.ts'

const FIELD = 'spec.credentials.accounts[0].webhook'
const VALUES = {
  users: { web: { readonly: false } },
  auth: { realm: 'shop', secret: 'hunter2' },
  other: 'not for anybody else',
}

let authority: TestAuthority
let server: WebhookServer
let other: WebhookServer
beforeAll(async () => {
  authority = await testAuthority()
  server = await webhookServer(await authority.serverFor(['localhost']))
  other = await webhookServer(await authority.serverFor(['localhost']))
})
afterAll(async () => {
  await Promise.all([server?.stop(), other?.stop()])
  await authority?.remove()
})
let before = 0
beforeEach(() => {
  before = server.asked.length
})

async function declared(values: unknown, webhook: object = {}) {
  const clientConfig = localConfig(server.port, authority.caBundle)
  const accounts = [{ kind: 'Webhook', webhook: { clientConfig, timeoutSeconds: 1, ...webhook } }]
  const block = { format: { name: 'sha256' }, accounts }
  const rules = parseRules(definitionWith(block), localWebhooks)
  if (!rules.ok || rules.value === undefined) throw new Error(JSON.stringify(rules))
  return resolveDeclared(rules.value, releaseWith(values))
}

test('the accounts that a server answers', async () => {
  server.behave(
    answering(() => ({
      accounts: [{ name: 'web' }, { name: 'app', username: 'App' }, { name: 'root', owner: 'platform' }],
    })),
  )
  expect(await declared(VALUES)).toMatchObject({
    accounts: [
      { username: 'web', owner: 'tenant' },
      { username: 'App', owner: 'tenant' },
      { username: 'root', owner: 'platform' },
    ],
    complete: true,
  })
})

test('it is sent the values that are listed, by their paths, and nothing else', async () => {
  server.behave(answering(() => ({ accounts: [] })))
  await declared(VALUES, { values: ['users', 'auth.realm', 'auth.absent', '__proto__'] })
  expect(server.asked.slice(before)).toEqual([
    {
      apiVersion: 'credentials.cozystack.io/v1alpha1',
      kind: 'AccountReview',
      request: {
        uid: expect.any(String),
        values: { users: { web: { readonly: false } }, 'auth.realm': 'shop' },
      },
    },
  ])
})

test('it is sent no values when none are listed', async () => {
  server.behave(answering(() => ({ accounts: [] })))
  await declared(VALUES)
  expect(server.asked.at(-1)?.request).toEqual({ uid: expect.any(String), values: {} })
})

test('values of another shape are the mistake of the release, and nobody is asked', async () => {
  const { causes, failure } = await declared({ auth: 'on' }, { values: ['auth.realm'] })
  expect(causes).toMatchObject([{ field: 'spec.values.auth' }])
  expect(failure).toBeUndefined()
  expect(server.asked).toHaveLength(before)
})

const failed = (says: RegExp) => ({
  accounts: [],
  complete: false,
  causes: [{ reason: 'InternalError' }],
  failure: {
    reason: 'webhook_failed',
    definition: 'postgres',
    field: FIELD,
    why: expect.stringMatching(says),
  },
})

describe('EXT-01 a source fails as a whole, asked once, when its server', () => {
  test.each(misbehaving(() => other.port))('%s', async (_, behaviour, says) => {
    server.behave(behaviour)
    const result = await declared(VALUES, { values: ['auth.secret'] })
    expect(result).toMatchObject(failed(says))
    expect(JSON.stringify(result)).not.toContain('hunter2')
    expect(server.asked).toHaveLength(before + 1)
    expect(other.asked).toEqual([])
  })

  test.each(late)('%s', async (_, behaviour) => {
    server.behave(behaviour)
    expect(await declared(VALUES)).toMatchObject(failed(/^no complete answer within 1 s$/))
  })

  test.each([
    ['no accounts', undefined, /no list of accounts/],
    ['a map of accounts', {}, /no list of accounts/],
    ['a bare name', ['web'], /no object/],
    ['an account without a name', [{ username: 'web' }], /without a name/],
    ['a number for a username', [{ name: 'web', username: 7 }], /no text/],
    ['an empty username', [{ name: '' }], /username is empty/],
    ['a username of 64 bytes', [{ name: 'n'.repeat(64) }], /longer than 63 bytes/],
    ['another owner', [{ name: 'web', owner: 'Platform' }], /neither tenant nor platform/],
    ['257 accounts', Array.from({ length: 257 }, (_, at) => ({ name: `u${at}` })), /more than 256/],
  ])('answers %s', async (_, accounts, says) => {
    server.behave(answering(() => ({ accounts })))
    expect(await declared(VALUES)).toMatchObject(failed(says))
  })
})

test('an account that is asked for then is not "not found": nobody knows', async () => {
  server.behave((_, outgoing) => void outgoing.writeHead(500).end())
  const name = { release: 'postgres-orders', account: 'web' }
  expect(findAccount(await declared(VALUES), name)).toMatchObject({
    ok: false,
    failure: { reason: 'webhook_failed', field: FIELD },
  })
})

test.each([
  [{ values: 'users' }, `${FIELD}.values`],
  [{ values: ['users[0]'] }, `${FIELD}.values`],
  [{ storesPlaintext: true }, `${FIELD}.storesPlaintext`],
])('a block with %j is wrong', (more, field) => {
  const webhook = { clientConfig: { url: 'https://localhost' }, ...more }
  const block = { format: { name: 'sha256' }, accounts: [{ kind: 'Webhook', webhook }] }
  expect(parseRules(definitionWith(block), localWebhooks)).toMatchObject({ failure: { field } })
})
