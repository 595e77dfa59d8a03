import { describe, expect, test } from 'vitest'
import { mint, revoke } from '../../examples/rotation/call.ts'
import { type Login, type Outcome, rotate, type Steps } from '../../examples/rotation/rotate.ts'

/** What `examples/rotation` does when something goes wrong: `docs/callers/rotation.md` says that no client is refused. */

const A: Login = { credential: 'postgres-orders.web-a', username: 'web-a', password: 'first' }
const B: Login = { credential: 'postgres-orders.web-b', username: 'web-b', password: 'second' }
const ACCOUNTS = [A.credential, B.credential] as const

interface Happened {
  readonly calls: readonly string[]
  readonly error: string | undefined
}

/** A rotation while `web-a` is in use, with some of its steps going otherwise. */
async function rotated(otherwise: Partial<Steps> = {}): Promise<Happened> {
  const calls: string[] = []
  const noted = <T>(what: string, value: T): T => {
    calls.push(what)
    return value
  }
  const steps: Steps = {
    mint: async () => ({ kind: 'Stored', value: B }),
    revoke: async () => ({ kind: 'Stored', value: undefined }),
    letsIn: async () => true,
    current: async () => A,
    switchTo: async () => {},
    drained: async () => {},
    pause: async () => {},
    say: () => {},
    ...otherwise,
  }
  const error = await rotate(ACCOUNTS, {
    ...steps,
    mint: (credential) => noted(`mint ${credential}`, steps.mint(credential)),
    revoke: (credential) => noted(`revoke ${credential}`, steps.revoke(credential)),
    switchTo: (login) => noted(`switch to ${login.username}`, steps.switchTo(login)),
  }).then(
    () => undefined,
    ({ message }: Error) => message,
  )
  return { calls, error }
}

const MINT = `mint ${B.credential}`
const DONE = [MINT, 'switch to web-b', `revoke ${A.credential}`]

describe('a rotation', () => {
  test('mints for the account that is not in use, switches, then revokes the other', async () => {
    expect(await rotated()).toEqual({ calls: DONE, error: undefined })
  })

  test('the first one has nothing to revoke', async () => {
    const { calls } = await rotated({
      current: async () => undefined,
      mint: async () => ({ kind: 'Stored', value: A }),
    })
    expect(calls).toEqual([`mint ${A.credential}`, 'switch to web-a'])
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
      { switchTo: () => Promise.reject(new Error('disk full')) },
      DONE.slice(0, 2),
      'disk full',
    ],
    [
      'somebody may still hold the former login',
      { drained: () => Promise.reject(new Error('rollout failed')) },
      DONE.slice(0, 2),
      'rollout failed',
    ],
  ])('%s: what is in use stays as it is', async (_what, otherwise, calls, says) => {
    expect(await rotated(otherwise)).toEqual({ calls, error: expect.stringContaining(says) })
  })
})

describe('a call of it', () => {
  const to = (url: string) => ({ url, token: async () => 'a-token' })

  test('nobody there: unknown, and what is said holds no token', async () => {
    for (const call of [mint, revoke]) {
      const outcome = await call(to('http://127.0.0.1:1'), A.credential)
      expect(outcome).toMatchObject({ kind: 'Unknown', message: expect.stringContaining(A.credential) })
      expect(JSON.stringify(outcome)).not.toContain('a-token')
    }
  })
})
