import { describe, expect, test } from 'vitest'
import type { Contract } from '../contract.ts'
import type { Anything } from '../kube.ts'
import { createSyncing, landed, type Syncing } from '../syncing.ts'

const CREDENTIAL = 'mariadb-shop.app'
const MARK = 'credentials.cozystack.io/undeclared-since'
const BOTH = { app: {}, report: {} }
const ONE = { report: {} }

/** A shop with a minted `app`, deployed, which then no longer declares it. */
async function undeclared(acme: Syncing): Promise<Anything> {
  await acme.shop(BOTH)
  await acme.sync('mariadb-shop')
  expect((await acme.mint(CREDENTIAL)).status).toBe(201)
  await acme.report(landed)
  const before = await acme.secret(CREDENTIAL)
  await acme.declare(ONE)
  return before
}

/** When a sync takes an account Secret away: never before the release without it has landed, twice looked at. */
export function syncUndeclared(context: Contract): void {
  const syncing = () => createSyncing(context)

  describe('a sync of a release that no longer declares an account', () => {
    test('leaves its Secret alone until that has landed', async () => {
      const acme = await syncing()
      const before = await undeclared(acme)
      const states: readonly ((release: Anything) => object)[] = [
        (release) => release.status,
        (release) => ({ ...landed(release), observedGeneration: release.metadata.generation - 1 }),
        (release) => ({ ...landed(release), conditions: notReady(release, 'False') }),
        (release) => ({ ...landed(release), conditions: notReady(release, 'Unknown') }),
      ]
      for (const state of states) {
        await acme.report(state)
        expect(await acme.counts()).toEqual({})
      }
      expect(await acme.secret(CREDENTIAL)).toEqual(before)
    })

    test('marks it then, and deletes it when that has been so for a while', async () => {
      const acme = await syncing()
      const before = await undeclared(acme)
      await acme.report(landed)
      expect(await acme.counts()).toEqual({ Marked: 1 })
      const { metadata, data } = await acme.secret(CREDENTIAL)
      expect(metadata.annotations[MARK]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      expect(data).toEqual(before.data)
      await expect.poll(acme.counts, { timeout: 10_000 }).toEqual({ Deleted: 1 })
      expect(await acme.secret(CREDENTIAL)).toBeUndefined()
      expect(await acme.secret('mariadb-shop.report')).toBeDefined()
      expect(await acme.counts()).toEqual({})
      // It is no new account to the engine: whoever knows a password of it keeps it until somebody mints.
      await acme.declare(BOTH)
      expect(await acme.counts()).toEqual({ Warnings: 1 })
      expect(await acme.secret(CREDENTIAL)).toBeUndefined()
    })

    test('deletes nothing of a suspended one, and nothing that the release takes a value from', async () => {
      const acme = await syncing()
      const before = await undeclared(acme)
      const path = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${acme.namespace}/helmreleases/mariadb-shop`
      const specs = [
        { suspend: true },
        { valuesFrom: [{ kind: 'Secret', name: `${CREDENTIAL}.account`, valuesKey: 'password' }] },
      ]
      for (const spec of specs) {
        await acme.admin.change(path, (release) => {
          const { suspend: _suspend, valuesFrom: _values, ...rest } = release.spec
          release.spec = { ...rest, ...spec }
        })
        await acme.report(landed)
        expect((await acme.counts()).Marked).toBeUndefined()
      }
      expect(await acme.secret(CREDENTIAL)).toEqual(before)
    })

    test('put back before it has landed: nothing has happened', async () => {
      const acme = await syncing()
      const before = await undeclared(acme)
      expect(await acme.counts()).toEqual({})
      await acme.declare(BOTH)
      await acme.report(landed)
      expect(await acme.counts()).toEqual({})
      expect(await acme.secret(CREDENTIAL)).toEqual(before)
    })

    test('put back after it was marked: the mark goes, and the password stays', async () => {
      const acme = await syncing()
      const before = await undeclared(acme)
      await acme.report(landed)
      expect(await acme.counts()).toEqual({ Marked: 1 })
      await acme.declare(BOTH)
      expect(await acme.counts()).toEqual({ Adopted: 1 })
      const { metadata, data } = await acme.secret(CREDENTIAL)
      expect(data).toEqual(before.data)
      expect(metadata.annotations).toEqual(before.metadata.annotations)
      expect(metadata.uid).toBe(before.metadata.uid)
      await acme.report(landed)
      expect(await acme.counts()).toEqual({})
    })

    test('whose values no longer have the shape of the source: nothing is taken away', async () => {
      const acme = await syncing()
      const before = await undeclared(acme)
      const path = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${acme.namespace}/helmreleases/mariadb-shop`
      for (const users of [['report'], 'report']) {
        await acme.admin.change(path, (release) => {
          release.spec.values.users = users
        })
        await acme.report(landed)
        expect(await acme.counts()).toEqual({ Warnings: 1 })
      }
      expect(await acme.secret(CREDENTIAL)).toEqual(before)
    })
  })
}

const notReady = (release: Anything, status: string): readonly object[] =>
  (Reflect.get(landed(release), 'conditions') as readonly object[]).map((condition) => ({
    ...condition,
    status,
  }))
