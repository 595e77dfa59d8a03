import { describe, expect, test } from 'vitest'
import { statusBody, withFaults } from '../helpers/faults.ts'
import { asking, secretOf } from './asking.ts'
import { testSandbox } from './fixture.ts'

const SECRETS = '/api/v1/namespaces/default/secrets'
const isPost = ({ method }: { readonly method: string }) => method === 'POST'

/** A sandbox, an unreliable way to it, and a way to look what is really there. */
function faulty(...rules: Parameters<typeof withFaults>[1] & object) {
  const { admin } = testSandbox()
  const { fetch, calls, add } = withFaults(admin, rules)
  const isThere = async () => (await asking(admin)('GET', `${SECRETS}/a`)).status === 200
  return { ask: asking(fetch), fetch, calls, add, isThere }
}

describe('a way with faults', () => {
  test('without a rule is a way, and remembers what went over it', async () => {
    const { ask, calls } = faulty()
    expect((await ask('POST', SECRETS, secretOf('a'))).status).toBe(201)
    await ask('GET', `${SECRETS}/a?x=1`)
    expect(calls().map(({ method, path }) => `${method} ${path}`)).toEqual([
      `POST ${SECRETS}`,
      `GET ${SECRETS}/a?x=1`,
    ])
    expect(JSON.parse(calls()[0]?.body ?? '')).toEqual(secretOf('a'))
  })

  test('answers instead of the server, as often as it is told', async () => {
    const body = statusBody(503, 'ServiceUnavailable', 'not now')
    const { ask, isThere } = faulty({ when: isPost, fault: { answer: 503, body }, times: 1 })
    expect((await ask('POST', SECRETS, secretOf('a'))).body).toEqual(body)
    expect(await isThere()).toBe(false)
    expect((await ask('POST', SECRETS, secretOf('a'))).status).toBe(201)
  })

  test('answers something else than the server did', async () => {
    const { ask, isThere } = faulty({ when: isPost, fault: { answerAfter: 502, body: 'bad gateway' } })
    expect(await ask('POST', SECRETS, secretOf('a'))).toMatchObject({ status: 502, text: 'bad gateway' })
    expect(await isThere()).toBe(true)
  })

  test.each([
    ['before', 'ECONNREFUSED', false],
    ['halfway', 'ECONNRESET', false],
    ['after', 'ECONNRESET', true],
  ] as const)('breaks %s the server did it: %s', async (breaks, code, isDone) => {
    const { ask, isThere } = faulty({ when: isPost, fault: { breaks } })
    await expect(ask('POST', SECRETS, secretOf('a'))).rejects.toMatchObject({ code })
    expect(await isThere()).toBe(isDone)
  })

  test.each([
    ['before', false],
    ['after', true],
  ] as const)('is silent %s the server did it, until the caller gives up', async (silent, isDone) => {
    const { fetch, isThere, calls } = faulty({ when: isPost, fault: { silent } })
    const caller = new AbortController()
    const request = new Request(`https://kubernetes.default.svc${SECRETS}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(secretOf('a')),
      signal: caller.signal,
    })
    const answer = fetch(request).catch((error: Error) => error.name)
    await expect.poll(() => calls().length).toBe(1)
    await expect.poll(isThere).toBe(isDone)
    caller.abort()
    expect(await answer).toBe('AbortError')
    expect(await isThere()).toBe(isDone)
  })

  test('takes its time', async () => {
    const { ask, add } = faulty()
    add({ when: isPost, fault: { delayMs: 30 } })
    const before = performance.now()
    expect((await ask('POST', SECRETS, secretOf('a'))).status).toBe(201)
    expect(performance.now() - before).toBeGreaterThan(25)
  })
})
