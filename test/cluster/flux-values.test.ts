import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { accountNameOf } from '../../src/credentials/naming.ts'
import { generatePassword } from '../../src/credentials/password.ts'
import { referencesTo, wired } from '../../src/credentials/wiring.ts'
import { deriveStored } from '../../src/formats/derive.ts'
import type { Format } from '../../src/formats/format.ts'
import { formats } from '../../src/formats/index.ts'
import { type Composed, type Composition, fluxValues } from '../control-plane/build-flux-values.ts'

/** Values as helm-controller composes them, with its own code: `github.com/fluxcd/pkg/chartutil`. */

const RELEASE = 'clickhouse-events'
const PATH = '_accounts'
const deps = { randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)) }
const encode = (text: string) => Buffer.from(text).toString('base64')
const keyOf = (username: string) => `u${createHash('sha256').update(username).digest('hex')}`

interface Wiring {
  readonly valuesPath?: string
  readonly values?: object
  readonly before?: readonly object[]
  readonly secrets?: Composition['secrets']
}

/** A release whose users have these stored values, wired as the function wires it. */
async function wiredWith(
  stored: ReadonlyMap<string, string>,
  { valuesPath = PATH, values = {}, before = [], secrets = {} }: Wiring = {},
): Promise<Composition> {
  const accounts = [...stored.keys()].map((username, index) => ({
    username,
    name: { release: RELEASE, account: accountNameOf(username) },
    // Two usernames of one table may map to one name; in a release they may not.
    secretName: `${RELEASE}.n${index}.account`,
  }))
  const ours = accounts.map(({ username, secretName }) => {
    const data = { username: encode(username), password: encode(stored.get(username) ?? '') }
    return [secretName, data] as const
  })
  return {
    values,
    valuesFrom: wired(before, await referencesTo(accounts, valuesPath), RELEASE),
    secrets: { ...secrets, ...Object.fromEntries(ours) },
  }
}

const expected = (stored: ReadonlyMap<string, string>) =>
  Object.fromEntries([...stored].map(([username, value]) => [keyOf(username), value]))

const compose = async (composition: Composition): Promise<Composed | undefined> =>
  (await fluxValues([composition]))[0]

beforeAll(() => fluxValues([]))

/** Without those that store passwords, which no chart is given. */
const wireable = [...formats.values()].filter(
  ({ storesPlaintext, neverInValues }) => !storesPlaintext && !neverInValues,
)

describe('a minted value arrives as it is stored', () => {
  test('in more than one format', () => {
    // Of the others one stores the password itself, and one holds a "#".
    expect(wireable.map(({ name }) => name).toSorted()).toEqual(
      [...formats.keys()].filter((name) => name !== 'plaintext' && name !== 'redis-acl').toSorted(),
    )
    expect(wireable.length).toBeGreaterThan(5)
  })

  test.each(wireable.map((format) => [format.name, format] as const))(
    'of %s, each of many',
    async (_, format) => {
      const stored = new Map<string, string>()
      for (let index = 0; index < 100; index += 1) {
        const username = `user-${index}`
        const value = await deriveStored(format, { username, password: generatePassword(deps) }, deps, {
          valuesPath: PATH,
        })
        stored.set(username, value.ok ? value.value : '')
      }
      expect(new Set(stored.values()).size).toBe(100)
      expect(await compose(await wiredWith(stored))).toEqual({ values: { [PATH]: expected(stored) } })
    },
  )

  test.each(['a.b.c', '_a-b._c'])('under a path of more than one name: %s', async (valuesPath) => {
    const stored = new Map([['etl', 'f'.repeat(64)]])
    const inner = valuesPath
      .split('.')
      .reduceRight<unknown>((value, name) => ({ [name]: value }), expected(stored))
    expect(await compose(await wiredWith(stored, { valuesPath }))).toEqual({ values: inner })
  })
})

test('whatever a user is called, the value arrives at the hash of the name and nowhere else', async () => {
  const usernames = [
    'etl',
    'ETL',
    'a.b',
    'a,b=c',
    'a=b',
    '{a,b}',
    '[0]',
    'a[0]',
    'a\\.b',
    '"a"',
    "'a'",
    '',
    ' ',
    'é',
    '😀',
    '$(x)',
    '$x',
    '{{ .Values }}',
    '../x',
    'true',
    'null',
    '0',
    '-',
    '__proto__',
    'constructor',
    'x'.repeat(63),
    '\u2028',
    '#',
    '&a',
    '*a',
    '!a',
  ]
  const stored = new Map(
    usernames.map((username, index) => [username, `${index.toString(16).padStart(63, 'f')}a`]),
  )
  expect(await compose(await wiredWith(stored))).toEqual({ values: { [PATH]: expected(stored) } })
})

/** A format that says yes to everything: what is left is the check of every value that reaches a chart. */
const anything: Format = {
  name: 'anything',
  storesPlaintext: false,
  canonical: /^/,
  derive: async ({ username }) => username,
}

const derive = (value: string) =>
  deriveStored(anything, { username: value, password: 'p'.repeat(32) }, deps, { valuesPath: PATH })

const NOT_ARRIVING = [
  'x,_namespace.host=evil',
  'a,b',
  '{a,b}',
  '{}',
  'a\\b',
  'a\\,b',
  'true',
  'false',
  'null',
  'True',
  'TRUE',
  'Null',
  'NULL',
  'FALSE',
  '0',
  '7',
  '1234',
  '-1',
  '+1',
  '9223372036854775807',
  "'a'",
  '"a"',
  "'",
  '"',
  "''",
  '',
  ',',
  '\\',
]

describe('a value that would not arrive as it is', () => {
  test('is one that Flux reads as something else, or not at all', async () => {
    const composed = await fluxValues(
      await Promise.all(NOT_ARRIVING.map((value) => wiredWith(new Map([['etl', value]])))),
    )
    const arrived = NOT_ARRIVING.filter((value, index) => isExactly(composed[index], value))
    // Nothing arrives as nothing, and is refused for what an engine makes of it.
    expect(arrived).toEqual([''])
  })

  test.each(NOT_ARRIVING)('is never stored: %j', async (value) => {
    expect(await derive(value)).toMatchObject({ ok: false, failure: { reason: 'value_not_canonical' } })
  })
})

const isExactly = (composed: Composed | undefined, value: string): boolean =>
  composed !== undefined &&
  'values' in composed &&
  JSON.stringify(composed.values) === JSON.stringify({ [PATH]: { [keyOf('etl')]: value } })

test('every value that is stored arrives: all of one and two characters, and many longer ones', async () => {
  const ascii = Array.from({ length: 0x7f - 0x20 }, (_, index) => String.fromCharCode(0x20 + index))
  const shapes = [
    '00012',
    '1e5',
    '0x10',
    '1.5',
    '-1.5',
    '.5',
    '1_000',
    '.inf',
    '.NaN',
    'yes',
    'no',
    'on',
    'off',
    '~',
    'y',
    'n',
    '2026-10-02',
    '12:30:45',
    '=',
    '==',
    'a=b',
    '-',
    '--',
    '*',
    '*a',
    ':',
    'a:',
    '$',
    '$a',
    '/',
    '0o7',
    '0b1',
    'undefined',
    '99999999999999999999999999',
    '+',
    '1-1',
  ]
  const candidates = [...new Set([...ascii, ...ascii.flatMap((a) => ascii.map((b) => a + b)), ...shapes])]
  const derived = await Promise.all(candidates.map(derive))
  const accepted = candidates.filter((_, index) => derived[index]?.ok)
  expect(accepted.length).toBeGreaterThan(1000)
  // A user for each: one composition of them all.
  const stored = new Map(accepted.map((value, index) => [`user-${index}`, value]))
  expect(await compose(await wiredWith(stored))).toEqual({ values: { [PATH]: expected(stored) } })
})

describe('what others take values from', () => {
  const others = {
    'cozystack-values': { 'values.yaml': encode('_namespace: {host: example.org}\nreplicas: 3\n') },
    patch: { value: encode('7') },
  }
  const before = [
    { kind: 'Secret', name: 'cozystack-values' },
    { kind: 'Secret', name: 'patch', valuesKey: 'value', targetPath: 'resources.cpu' },
    { kind: 'Secret', name: 'not-there', optional: true },
  ]
  const stored = new Map([['etl', 'a'.repeat(64)]])

  test('keeps its effect, and so do the values of the tenant', async () => {
    const values = { users: { etl: {} }, resources: { memory: '1Gi' }, replicas: 5 }
    expect(await compose(await wiredWith(stored, { values, before, secrets: others }))).toEqual({
      values: {
        _namespace: { host: 'example.org' },
        users: { etl: {} },
        resources: { memory: '1Gi', cpu: 7 },
        replicas: 5,
        [PATH]: expected(stored),
      },
    })
  })

  test('a stale entry of ours, or one at a wrong path, sets nothing any more', async () => {
    const stale = [
      { kind: 'Secret', name: `${RELEASE}.gone.account`, valuesKey: 'password', targetPath: `${PATH}.u00` },
      { kind: 'Secret', name: `${RELEASE}.n0.account`, valuesKey: 'password', targetPath: '_namespace.host' },
    ]
    expect(
      await compose(await wiredWith(stored, { before: [...stale, ...before], secrets: others })),
    ).toEqual({
      values: {
        _namespace: { host: 'example.org' },
        resources: { cpu: 7 },
        replicas: 3,
        [PATH]: expected(stored),
      },
    })
  })
})

test('a Secret that is missing stops Flux: nothing is rendered without the account', async () => {
  const composition = await wiredWith(new Map([['etl', 'a'.repeat(64)]]))
  expect(await compose({ ...composition, secrets: {} })).toEqual({
    error: expect.stringContaining(`${RELEASE}.n0.account`),
  })
})

describe('what inline values hold at the place of a verifier', () => {
  const stored = new Map([['etl', 'a'.repeat(64)]])

  test.each([
    ['another value', 'mine'],
    ['null', null],
    ['a map', { x: 1 }],
  ])('gives way to it: %s', async (_, mine) => {
    const values = { [PATH]: { [keyOf('etl')]: mine } }
    expect(await compose(await wiredWith(stored, { values }))).toEqual({
      values: { [PATH]: expected(stored) },
    })
  })

  // Such a path begins with an underscore, which tenants cannot set.
  test.each([
    ['a text', 'x'],
    ['null', null],
    ['a list', []],
  ])('or stops Flux: %s above it', async (_, mine) => {
    expect(await compose(await wiredWith(stored, { values: { [PATH]: mine } }))).toHaveProperty('error')
  })
})
