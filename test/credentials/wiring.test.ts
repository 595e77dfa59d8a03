import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { NamedAccount } from '../../src/credentials/declared.ts'
import { referencesTo, type ValuesReference, valuesFromOf, wired } from '../../src/credentials/wiring.ts'

const RELEASE = 'clickhouse-events'
const account = (username: string, name: string): NamedAccount => ({
  username,
  name: { release: RELEASE, account: name },
  secretName: `${RELEASE}.${name}.account`,
})
/** SHA-256 of `etl` by sha256sum (coreutils). */
const ETL = '631fd8e1ffac93e47a9eeeaeb7c7ffa4ed64c93ebc79450f33ff81bd2ff69a91'

const etl = {
  kind: 'Secret',
  name: `${RELEASE}.etl.account`,
  valuesKey: 'password',
  targetPath: `_accounts.u${ETL}`,
} as const satisfies ValuesReference
const bi: ValuesReference = { ...etl, name: `${RELEASE}.bi.account`, targetPath: '_accounts.u00' }
const platform = { kind: 'Secret', name: 'cozystack-values' } as const
const config = { kind: 'ConfigMap', name: `${RELEASE}.etl.account`, optional: true } as const

describe('the references to account Secrets', () => {
  test('are in the order of the Secrets, never optional, with the username hashed', async () => {
    const references = await referencesTo([account('etl', 'etl'), account('B.I', 'b-i')], '_accounts')
    expect(references).toEqual([
      {
        kind: 'Secret',
        name: `${RELEASE}.b-i.account`,
        valuesKey: 'password',
        targetPath: `_accounts.u${createHash('sha256').update('B.I').digest('hex')}`,
      },
      etl,
    ])
  })

  test.each(['__proto__', 'a,b={c}[0]\\.d', 'é😀', ' '])(
    'hold nothing of a username: %j',
    async (username) => {
      const [reference] = await referencesTo([account(username, 'x')], '_a.b-c')
      expect(reference?.targetPath).toMatch(/^_a\.b-c\.u[0-9a-f]{64}$/)
      expect(reference?.targetPath.slice(-64)).toBe(createHash('sha256').update(username).digest('hex'))
    },
  )
})

describe('what a release takes values from', () => {
  test.each([
    ['nothing', {}, []],
    ['null', { valuesFrom: null }, []],
    ['a list', { valuesFrom: [platform] }, [platform]],
    ['a map', { valuesFrom: {} }, undefined],
    ['a text', { valuesFrom: 'x' }, undefined],
  ])('%s', (_, spec, expected) => {
    expect(valuesFromOf({ spec })).toEqual(expected)
  })
})

describe('a wired list', () => {
  test.each<[string, readonly unknown[], readonly ValuesReference[]]>([
    ['nothing wanted, nothing there', [], []],
    ['others only', [platform, config], []],
    ['ours in any order between others', [bi, platform, etl], [etl, bi]],
    [
      'whatever the order of the keys',
      [{ targetPath: etl.targetPath, valuesKey: 'password', name: etl.name, kind: 'Secret' }],
      [etl],
    ],
  ])('is the very list that was given: %s', (_, current, wanted) => {
    expect(wired(current, wanted, RELEASE)).toBe(current)
  })

  const wrongTarget = { ...etl, targetPath: '_accounts.uff' }
  const optional = { ...etl, optional: true }
  test.each<[string, readonly unknown[], readonly ValuesReference[], readonly unknown[]]>([
    ['what is missing comes last', [platform], [etl, bi], [platform, etl, bi]],
    ['one that is no longer wanted goes', [platform, etl, config], [], [platform, config]],
    ['one at another path is replaced', [wrongTarget, platform], [etl], [platform, etl]],
    ['one that was made optional is replaced', [optional, platform], [etl], [platform, etl]],
    ['a second of the same is too many', [etl, platform, etl], [etl], [etl, platform]],
    ['a wrong one beside the right one goes', [wrongTarget, etl, bi], [etl, bi], [etl, bi]],
    ['entries that are none stay', [null, 'x', 7, [etl]], [etl], [null, 'x', 7, [etl], etl]],
    [
      'a Secret of another release stays',
      [{ ...etl, name: 'clickhouse-event.etl.account' }],
      [],
      [{ ...etl, name: 'clickhouse-event.etl.account' }],
    ],
    [
      'a Secret of a release whose name begins like it stays',
      [{ ...etl, name: `${RELEASE}-2.etl.account` }],
      [],
      [{ ...etl, name: `${RELEASE}-2.etl.account` }],
    ],
    [
      'a Secret that is no account Secret stays',
      [{ ...etl, name: `${RELEASE}.etl` }],
      [],
      [{ ...etl, name: `${RELEASE}.etl` }],
    ],
  ])('%s', (_, current, wanted, expected) => {
    const once = wired(current, wanted, RELEASE)
    expect(once).toEqual(expected)
    expect(wired(once, wanted, RELEASE)).toBe(once)
  })

  test('of 256 accounts, each wired wrongly, holds each once', () => {
    const wanted = Array.from({ length: 256 }, (_, index) => ({
      ...etl,
      name: `${RELEASE}.u${index}.account`,
    }))
    const current = wanted.map((each) => ({ ...each, optional: true }))
    expect(wired([...current, platform], wanted, RELEASE)).toEqual([platform, ...wanted])
  })
})
