import { describe, expect, test } from 'vitest'
import type { Contract } from '../contract.ts'
import { decode } from '../kube.ts'
import type { Answer } from '../tenant.ts'
import { accepts } from '../verify.ts'

/** Runs `count` calls, `width` at a time. */
async function many(count: number, width: number, call: () => Promise<Answer>): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  let started = 0
  const lane = async () => {
    while (started < count) {
      started += 1
      answers.push(await call())
      // As a network would: in one process, a lane that never waits for anything outside would keep the others
      // from hearing of their key derivation until their time is over.
      await new Promise(setImmediate)
    }
  }
  await Promise.all(Array.from({ length: width }, lane))
  return answers
}

const passwordOf = ({ body }: Answer): string => body.status.password

export function concurrency({ tenant }: Contract): void {
  describe('many at once', () => {
    test('a thousand mints with one precondition: exactly one is stored, and its password is the one', async () => {
      const acme = await tenant()
      await acme.release('Postgres', 'orders', { users: { web: {} } })
      await acme.mint('postgres-orders.web')
      const { resourceVersion } = (await acme.get('postgres-orders.web')).body.metadata
      const body = { spec: { preconditions: { resourceVersion } } }
      const answers = await many(1000, 32, () => acme.mint('postgres-orders.web', { body }))

      const minted = answers.filter(({ status }) => status === 201)
      expect(answers.filter(({ status }) => status !== 409)).toEqual(minted)
      expect(minted).toHaveLength(1)
      expect(answers.filter(({ status, text }) => status !== 201 && text.includes('password":'))).toEqual([])
      const stored = decode((await acme.secret('postgres-orders.web')).data.password)
      expect(minted.map((answer) => accepts(stored, passwordOf(answer)))).toEqual([true])
    }, 120_000)

    test('mints without a precondition: every 201 was stored, and the last one is what counts', async () => {
      const acme = await tenant()
      await acme.release('MariaDB', 'shop', { users: { app: {} } })
      const answers = await many(64, 16, () => acme.mint('mariadb-shop.app'))
      const minted = answers.filter(({ status }) => status === 201)
      expect(minted.length).toBeGreaterThan(0)
      expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([])
      const stored = decode((await acme.secret('mariadb-shop.app')).data.password)
      expect(minted.filter((answer) => accepts(stored, passwordOf(answer)))).toHaveLength(1)
      const { history } = (await acme.get('mariadb-shop.app')).body.status
      expect(history).toHaveLength(Math.min(10, minted.length))
    }, 60_000)
  })
}
