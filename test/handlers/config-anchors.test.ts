import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { DEFAULT_NAMES, nameRuleOf, releaseFor, sourceFor } from '../../src/trust-anchor/names.ts'

const ON = { MINTONCE_TRUST_ANCHORS: 'on' }
const anchorsOf = async (env: Readonly<Record<string, string>>) => (await readConfig(env)).anchors
const named = (table: unknown) => ({ ...ON, MINTONCE_TRUST_ANCHOR_NAMES: JSON.stringify(table) })

describe('what is published', () => {
  test('is nothing unless it is switched on', async () => {
    expect(await anchorsOf({})).toBeUndefined()
    expect(await anchorsOf({ MINTONCE_TRUST_ANCHORS: 'off' })).toBeUndefined()
  })

  test('is what TenantProjections declare, and no more', async () => {
    expect(await anchorsOf(ON)).toEqual({ labels: false, names: new Map() })
  })

  test('is what labels ask for when they are switched on too', async () => {
    expect(await anchorsOf({ ...ON, MINTONCE_TRUST_ANCHOR_LABELS: 'on' })).toEqual({
      labels: true,
      names: new Map(),
    })
  })

  test('is found by the names of the table that is given, in place of the one that is built in', async () => {
    const anchors = await anchorsOf(
      named({ ClickHouse: { source: '{release}-tls' }, Queue: { source: 'ca.{release}.x', key: 'tls.crt' } }),
    )
    expect(anchors?.names).toEqual(
      new Map([
        ['ClickHouse', { source: '{release}-tls', key: 'ca.crt' }],
        ['Queue', { source: 'ca.{release}.x', key: 'tls.crt' }],
      ]),
    )
  })

  test('is found by the names that are built in', async () => {
    const anchors = await anchorsOf({ ...ON, MINTONCE_TRUST_ANCHOR_NAMES: 'default' })
    expect(anchors?.names).toBe(DEFAULT_NAMES)
  })
})

test.each<readonly [string, Readonly<Record<string, string>>]>([
  ['MINTONCE_TRUST_ANCHORS', { MINTONCE_TRUST_ANCHORS: 'true' }],
  ['MINTONCE_TRUST_ANCHOR_LABELS', { ...ON, MINTONCE_TRUST_ANCHOR_LABELS: '1' }],
  ['MINTONCE_TRUST_ANCHOR_LABELS', { MINTONCE_TRUST_ANCHOR_LABELS: 'on' }],
  ['MINTONCE_TRUST_ANCHOR_NAMES', { MINTONCE_TRUST_ANCHOR_NAMES: 'default' }],
  ...[
    [],
    {},
    'defaults',
    { Postgres: '{release}-ca' },
    { Postgres: { source: '{release}-ca', keys: 'ca.crt' } },
    { Postgres: { source: 'the-ca' } },
    { Postgres: { source: '{release}' } },
    { Postgres: { source: '{release}.tenant-ca' } },
    { Postgres: { source: '{release}-{release}' } },
    { Postgres: { source: '{Release}-ca' } },
    { Postgres: { source: '../{release}' } },
    { Postgres: { source: '{release}-ca', key: '' } },
    { Postgres: { source: '{release}-ca', key: 'ca.crt/../ca.key' } },
    { postgres: { source: '{release}-ca' } },
    { Postgres: { source: '{release}-ca' }, 'Maria DB': { source: '{release}-ca' } },
  ].map((table) => ['MINTONCE_TRUST_ANCHOR_NAMES', named(table)] as const),
])('%s is refused by its name: %j', async (variable, env) => {
  await expect(readConfig(env)).rejects.toThrow(new RegExp(`^bad configuration:\n {2}${variable}: [^\n]+$`))
})

describe('a name', () => {
  const rule = nameRuleOf('a-{release}-ca')

  test('is that of the release, and the release is found by it', () => {
    if (rule === undefined) throw new Error('it is a rule')
    expect(sourceFor(rule, 'postgres-x')).toBe('a-postgres-x-ca')
    expect(releaseFor(rule, 'a-postgres-x-ca')).toBe('postgres-x')
  })

  test.each(['a--ca', 'a-ca', 'a-x-c', 'b-x-ca', 'a-X-ca', 'a--x-ca', ''])(
    '%j is none of any release',
    (name) => {
      if (rule === undefined) throw new Error('it is a rule')
      expect(releaseFor(rule, name)).toBeUndefined()
    },
  )

  test('takes no part of a release for a pattern', () => {
    if (rule === undefined) throw new Error('it is a rule')
    expect(sourceFor(rule, '$&')).toBe('a-$&-ca')
  })
})

/** As the operators have it: the sources are named beside the table. */
test.each([
  ['Postgres', 'postgres-a', 'postgres-a-ca'],
  ['MariaDB', 'mariadb-a', 'mariadb-a-ca-bundle'],
  ['MongoDB', 'mongodb-a', 'mongodb-a-ssl'],
  ['Kafka', 'kafka-a', 'kafka-a-cluster-ca-cert'],
])('the operator of %s leaves the CA of %s in %s, under ca.crt', (kind, release, secret) => {
  const rule = DEFAULT_NAMES.get(kind)
  if (rule === undefined) throw new Error('there is no such row')
  expect([sourceFor(rule, release), rule.key]).toEqual([secret, 'ca.crt'])
})
