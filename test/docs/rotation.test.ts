import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mint, revoke, versionOf } from '../../examples/rotation/call.ts'
import { type Given, type Login, type Outcome, rotate, type Steps } from '../../examples/rotation/rotate.ts'
import { checkGiven, readSettings } from '../../examples/rotation/settings.ts'

/** What `examples/rotation` does when something goes wrong: `docs/callers/rotation.md` says that no client is refused. */

const A: Login = { credential: 'postgres-orders.web-a', username: 'web-a', password: 'first' }
const B: Login = { credential: 'postgres-orders.web-b', username: 'web-b', password: 'second' }
const ACCOUNTS = [A.credential, B.credential] as const

interface Happened {
  readonly calls: readonly string[]
  readonly error: string | undefined
  /** What the application has afterwards. */
  readonly given: Given | undefined
}

/** A rotation, with some of its steps going otherwise. */
async function rotated(
  otherwise: Partial<Steps> = {},
  before: Given | 'nothing' = { login: A },
): Promise<Happened> {
  const now = before === 'nothing' ? undefined : before
  const calls: string[] = []
  let given = now
  const noted = <T>(what: string, value: T): T => {
    calls.push(what)
    return value
  }
  const steps: Steps = {
    mint: async (credential) => ({ kind: 'Stored', value: credential === A.credential ? A : B }),
    revoke: async () => ({ kind: 'Stored', value: undefined }),
    letsIn: async () => true,
    give: async () => {},
    drained: async () => {},
    pause: async () => {},
    say: () => {},
    ...otherwise,
  }
  const error = await rotate(ACCOUNTS, now, {
    ...steps,
    mint: (credential) => noted(`mint ${credential}`, steps.mint(credential)),
    revoke: (credential) => noted(`revoke ${credential}`, steps.revoke(credential)),
    drained: () => noted('drain', steps.drained()),
    give: async (next) => {
      const { login, former } = next
      await noted(`give ${login.username}${former === undefined ? '' : ' after another'}`, steps.give(next))
      given = next
    },
  }).then(
    () => undefined,
    ({ message }: Error) => message,
  )
  return { calls, error, given }
}

const MINT = `mint ${B.credential}`
const RETIRE_A = ['drain', `revoke ${A.credential}`, 'give web-b']
const DONE = [MINT, 'give web-b after another', ...RETIRE_A]

describe('a rotation', () => {
  test('mints for the account that is not in use, switches, then revokes the other', async () => {
    expect(await rotated()).toEqual({ calls: DONE, error: undefined, given: { login: B } })
  })

  test('the first one has nothing to revoke', async () => {
    const { calls, given } = await rotated({}, 'nothing')
    expect(calls).toEqual([MINT, 'give web-b'].map((call) => call.replace('web-b', 'web-a')))
    expect(given).toEqual({ login: A })
  })

  test('a mint with an unknown outcome is repeated: nobody uses that account', async () => {
    const outcomes: Outcome<Login>[] = [
      { kind: 'Unknown', message: 'no answer' },
      { kind: 'Stored', value: B },
    ]
    const { calls, error } = await rotated({
      mint: async () => outcomes.shift() ?? { kind: 'Refused', message: 'too often' },
    })
    expect({ calls, error }).toEqual({ calls: [MINT, ...DONE], error: undefined })
  })

  test.each<[string, Partial<Steps>, readonly string[], string]>([
    ['the mint is refused', { mint: async () => ({ kind: 'Refused', message: '403' }) }, [MINT], '403'],
    [
      'nobody ever knows',
      { mint: async () => ({ kind: 'Unknown', message: 'reset' }) },
      [MINT, MINT, MINT],
      'reset',
    ],
    ['the engine lets nobody in', { letsIn: async () => false }, [MINT], 'nothing was switched'],
    [
      'the application cannot be given it',
      { give: () => Promise.reject(new Error('disk full')) },
      DONE.slice(0, 2),
      'disk full',
    ],
  ])('%s: what is in use stays as it is', async (_what, otherwise, calls, says) => {
    expect(await rotated(otherwise)).toEqual({
      calls,
      error: expect.stringContaining(says),
      given: { login: A },
    })
  })

  test('somebody may still hold the former login: no run mints for it before they are through', async () => {
    const stuck = { drained: () => Promise.reject(new Error('rollout failed')) }
    const first = await rotated(stuck)
    expect(first).toMatchObject({ calls: DONE.slice(0, 3), error: 'rollout failed' })
    const second = await rotated(stuck, first.given)
    expect(second).toEqual({ calls: ['drain'], error: 'rollout failed', given: first.given })
    const third = await rotated({}, second.given)
    const other = DONE.map((call) =>
      call.replaceAll(/web-[ab]/g, (name) => (name === 'web-a' ? 'web-b' : 'web-a')),
    )
    expect(third).toEqual({ calls: [...RETIRE_A, ...other], error: undefined, given: { login: A } })
  })

  test('killed before the revocation is known: the next run does it again, before it mints', async () => {
    const first = await rotated({ revoke: async () => ({ kind: 'Refused', message: '403' }) })
    expect(first).toMatchObject({ error: '403', given: { login: B, former: A.credential } })
    const { calls } = await rotated({}, first.given)
    expect(calls.slice(0, 4)).toEqual([...RETIRE_A, `mint ${A.credential}`])
  })
})

describe('what it is told', () => {
  const URL = 'http://mintonce/apis/core.cozystack.io/v1alpha1/namespaces/tenant-acme'
  const ENV = {
    MINTONCE_NAMESPACE_URL: URL,
    MINTONCE_TOKEN_FILE: '/token',
    ACCOUNTS: ACCOUNTS.join(' '),
    LOGIN_SECRET: 'orders-login',
    TRY_LOGIN: 'true',
    DRAINED: 'true',
  }

  test('is read', () => {
    expect(readSettings({ ...ENV, ACCOUNTS: ` ${ACCOUNTS.join('  ')}\n` }, ['--first'])).toEqual({
      url: URL,
      namespace: 'tenant-acme',
      tokenFile: '/token',
      accounts: ACCOUNTS,
      secret: 'orders-login',
      tryLogin: 'true',
      drained: 'true',
      isFirst: true,
    })
  })

  test.each<[string, object, readonly string[]]>([
    [
      'one account, which would be minted for while it is in use',
      { ACCOUNTS: `${ACCOUNTS[0]} ${ACCOUNTS[0]}` },
      [],
    ],
    ['one', { ACCOUNTS: ACCOUNTS[0] }, []],
    ['three', { ACCOUNTS: `${ACCOUNTS.join(' ')} postgres-orders.web-c` }, []],
    ['another path', { ACCOUNTS: `${ACCOUNTS[0]} ../x.y` }, []],
    ['no namespace', { MINTONCE_NAMESPACE_URL: 'http://mintonce' }, []],
    ['another option', {}, ['--frist']],
    ...Object.keys(ENV).map((name): [string, object, readonly string[]] => [
      `no ${name}`,
      { [name]: ' ' },
      [],
    ]),
  ])('%s: refused', (_what, otherwise, args) => {
    expect(() => readSettings({ ...ENV, ...otherwise }, args)).toThrow()
  })
})

describe('what the application has', () => {
  const told = { accounts: ACCOUNTS, secret: 'orders-login', isFirst: false }
  const other = { ...A, credential: 'mariadb-shop.app' }

  test('is a login of these two', () => {
    expect(() => checkGiven({ login: A, former: B.credential }, told)).not.toThrow()
    expect(() => checkGiven(undefined, { ...told, isFirst: true })).not.toThrow()
  })

  test.each<[string, Given | undefined, boolean, string]>([
    ['nothing, though it is not the first rotation', undefined, false, '--first'],
    ['something, though it is', { login: A }, true, 'not the first'],
    ['the login of another account', { login: other }, false, 'mariadb-shop.app'],
    ['one after another account', { login: A, former: 'mariadb-shop.app' }, false, 'mariadb-shop.app'],
    ['one after itself', { login: A, former: A.credential }, false, 'twice'],
  ])('is %s: refused', (_what, given, isFirst, says) => {
    expect(() => checkGiven(given, { ...told, isFirst })).toThrow(says)
  })
})

describe('a call of it', () => {
  const to = (url: string) => ({ url, token: async () => 'a-token' })
  const since = { uid: 'u', resourceVersion: '7' }
  let server: Server
  let url: string
  let asked: string[]
  let answer: readonly [number, string]

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      asked.push(`${request.method} ${request.url} ${await text(request)}`)
      response.writeHead(answer[0]).end(answer[1])
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => server.close())

  test('demands what a read has shown', async () => {
    asked = []
    answer = [200, JSON.stringify({ metadata: { ...since, name: A.credential } })]
    expect(await versionOf(to(url), A.credential)).toEqual({ kind: 'Stored', value: since })
    answer = [201, JSON.stringify({ status: { username: 'web-a', password: 'first' } })]
    expect(await mint(to(url), A.credential, since)).toEqual({ kind: 'Stored', value: A })
    const path = `/credentials/${A.credential}`
    const body = { kind: 'CredentialRequest', spec: { preconditions: since } }
    expect(asked).toEqual([`GET ${path} `, `POST ${path}/mint ${JSON.stringify(body)}`])
  })

  test.each(['{}', 'null', '{"metadata": {"uid": "u"}}', '<html>'])(
    'a read that answers %s shows nothing to demand',
    async (body) => {
      answer = [200, body]
      expect(await versionOf(to(url), A.credential)).toMatchObject({ kind: 'Unknown' })
    },
  )

  test('nobody there: unknown, and what is said holds no token', async () => {
    for (const call of [mint, revoke]) {
      const outcome = await call(to('http://127.0.0.1:1'), A.credential, since)
      expect(outcome).toMatchObject({ kind: 'Unknown', message: expect.stringContaining(A.credential) })
      expect(JSON.stringify(outcome)).not.toContain('a-token')
    }
  })
})
