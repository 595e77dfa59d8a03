import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parseRules } from '../../src/definitions/parse.ts'
import { deriveStored } from '../../src/formats/derive.ts'
import { late, misbehaving } from '../helpers/misbehaving.ts'
import { localConfig, localWebhooks, withFormatWebhook } from '../helpers/webhook-blocks.ts'
import {
  answering,
  type TestAuthority,
  testAuthority,
  type WebhookServer,
  webhookServer,
} from '../helpers/webhook-server.ts'
import { definitionWith } from './definition.ts'

const FIELD = 'spec.credentials.format.webhook'
const P32 = 'Xq7Lw2Zp9Rk4Nd8Vb3Tc6Ym1Hs5Gf0Ja'

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

interface Around {
  readonly webhook?: object
  readonly more?: object
  readonly signal?: AbortSignal
}

/** Derives through the server, over TLS. */
async function derive({ webhook, more, signal }: Around = {}) {
  const clientConfig = localConfig(server.port, authority.caBundle)
  const block = withFormatWebhook({ clientConfig, timeoutSeconds: 1, ...webhook }, more)
  const rules = parseRules(definitionWith(block, { name: 'mongodb' }), localWebhooks)
  if (!rules.ok || rules.value === undefined) throw new Error(JSON.stringify(rules))
  const { format, valuesPath } = rules.value
  const input = { username: 'web', password: P32 }
  const deps = { randomBytes: (length: number) => new Uint8Array(length), ...(signal && { signal }) }
  return deriveStored(format, input, deps, { valuesPath })
}

const failed = (says: RegExp) => ({
  ok: false,
  failure: {
    reason: 'webhook_failed',
    definition: 'mongodb',
    field: FIELD,
    why: expect.stringMatching(says),
  },
})

test('a value that is derived elsewhere', async () => {
  server.behave(answering(() => ({ value: '{"SCRAM-SHA-256":{}}' })))
  expect(await derive()).toEqual({ ok: true, value: '{"SCRAM-SHA-256":{}}' })
  expect(server.asked.slice(before)).toEqual([
    {
      apiVersion: 'credentials.cozystack.io/v1alpha1',
      kind: 'FormatReview',
      request: {
        uid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        format: 'mongodb-scram-sha-256',
        username: 'web',
        password: P32,
      },
    },
  ])
})

test('each question has a uid of its own', async () => {
  server.behave(answering(() => ({ value: 'v' })))
  await derive()
  await derive()
  const uids = server.asked.slice(before).map(({ request }) => request.uid)
  expect(new Set(uids).size).toBe(2)
})

describe('EXT-01 a webhook is asked once, and nothing is stored when it', () => {
  test.each(misbehaving(() => other.port))('%s', async (_, behaviour, says) => {
    server.behave(behaviour)
    const result = await derive()
    expect(result).toEqual(failed(says))
    expect(JSON.stringify(result)).not.toContain(P32)
    expect(server.asked).toHaveLength(before + 1)
    expect(other.asked).toEqual([])
  })

  test.each(late)('%s', async (_, behaviour) => {
    server.behave(behaviour)
    expect(await derive()).toEqual(failed(/^no complete answer within 1 s$/))
    expect(server.asked).toHaveLength(before + 1)
  })

  test.each([
    ['nothing', '', /the value is empty/],
    ['no text', 7, /answered no value/],
    ['a value of more than 8 KiB', 'x'.repeat(8193), /longer than 8192 bytes/],
    ['the password', P32, /contains the password/],
    ['the password among other things', `{"p":"${P32}"}`, /contains the password/],
    ['two lines', 'a\nb', /not what the format stores/],
    ['half a character', '\ud800', /not what the format stores|answered no/],
  ])('answers %s', async (_, value, says) => {
    server.behave(answering(() => ({ value })))
    const result = await derive()
    expect(result).toEqual(failed(says))
    expect(JSON.stringify(result)).not.toContain(P32)
  })

  test('answers what would change in Helm values', async () => {
    server.behave(answering(() => ({ value: 'a,b' })))
    expect(await derive({ more: { valuesPath: '_accounts' } })).toEqual(failed(/would change in Helm values/))
  })

  test('has a certificate of another authority', async () => {
    const stranger = await testAuthority('stranger')
    const webhook = { clientConfig: localConfig(server.port, stranger.caBundle) }
    await stranger.remove()
    expect(await derive({ webhook })).toEqual(failed(/^no answer \(\w*(SIGNATURE|CERT|ISSUER)\w*\)$/))
    expect(server.asked).toHaveLength(before)
  })

  test('has a certificate that no authority of the system has signed', async () => {
    const webhook = { clientConfig: { url: `https://localhost:${server.port}/` } }
    expect(await derive({ webhook })).toEqual(failed(/^no answer \([A-Z_]+\)$/))
    expect(server.asked).toHaveLength(before)
  })

  test('has a certificate for another name', async () => {
    const misnamed = await webhookServer(await authority.serverFor(['elsewhere.example']))
    const webhook = { clientConfig: localConfig(misnamed.port, authority.caBundle) }
    expect(await derive({ webhook })).toEqual(failed(/ERR_TLS_CERT_ALTNAME_INVALID/))
    expect(misnamed.asked).toEqual([])
    await misnamed.stop()
  })

  test('is not there', async () => {
    const gone = await webhookServer(await authority.serverFor(['localhost']))
    await gone.stop()
    const webhook = { clientConfig: localConfig(gone.port, authority.caBundle) }
    expect(await derive({ webhook })).toEqual(failed(/^no answer \(ECONNREFUSED\)$/))
  })
})

test('a caller that has gone is not waited for, and nobody is asked for it', async () => {
  expect(await derive({ signal: AbortSignal.abort() })).toEqual(failed(/the caller has gone/))
  expect(server.asked).toHaveLength(before)
})

test('a format that says that it stores plaintext may', async () => {
  server.behave(answering(({ request }) => ({ value: `{plain}${request.password}` })))
  expect(await derive({ webhook: { storesPlaintext: true } })).toEqual({ ok: true, value: `{plain}${P32}` })
})
