import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { postgres } from '../definitions/blocks.ts'
import { definitionWith } from '../definitions/definition.ts'
import { runCommand, runInShell } from './command.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mintonce-check-'))
})
afterAll(() => rm(folder, { recursive: true }))

let files = 0
async function file(text: string): Promise<string> {
  files += 1
  const path = join(folder, `${files}.yaml`)
  await writeFile(path, text)
  return path
}

const definition = (block: unknown, parts: Parameters<typeof definitionWith>[1] = {}): string =>
  stringify({
    apiVersion: 'cozystack.io/v1alpha1',
    kind: 'ApplicationDefinition',
    ...definitionWith(block, parts),
  })

const release = (values: object, more: object = {}): string =>
  stringify({
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: {
      name: 'postgres-orders',
      namespace: 'tenant-acme',
      labels: {
        'apps.cozystack.io/application.group': 'apps.cozystack.io',
        'apps.cozystack.io/application.kind': 'Postgres',
        'apps.cozystack.io/application.name': 'orders',
      },
    },
    spec: { values, ...more },
  })

const check = async (...args: readonly string[]) => {
  const ended = await runCommand(['definition', 'check', ...args])
  const short = (text: string) => text.replaceAll(`${folder}/`, '')
  return { ...ended, stdout: short(ended.stdout), stderr: short(ended.stderr) }
}

describe('mintonce definition check', () => {
  test('says what a definition means, in YAML and in JSON, alone or in a list', async () => {
    const yaml = await file(
      `${definition(postgres)}---\n${definition(undefined, { name: 'bucket', kind: 'Bucket' })}`,
    )
    const other = definitionWith(
      {
        format: { name: 'sha256' },
        valuesPath: '_accounts',
        accounts: [{ kind: 'ValuesMap', path: 'users' }],
      },
      { name: 'clickhouse', kind: 'ClickHouse' },
    )
    const json = await file(
      JSON.stringify({
        kind: 'List',
        items: [{ kind: 'ApplicationDefinition', ...other }, { kind: 'Secret' }],
      }),
    )
    expect(await check(yaml, json)).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        '1.yaml: ApplicationDefinition "postgres": ok: Postgres, format scram-sha-256, accounts from ValuesMap, Static',
        '1.yaml: ApplicationDefinition "bucket": Bucket has no spec.credentials, and is not served',
        '2.yaml: ApplicationDefinition "clickhouse": ok: ClickHouse, format sha256, accounts from ValuesMap, values at _accounts',
        '',
      ].join('\n'),
    })
  })

  test.each([
    ['an unknown field', { ...postgres, acounts: [] }, {}, 'spec.credentials.acounts: unknown field'],
    [
      'an unknown format',
      { ...postgres, format: { name: 'md5' } },
      {},
      'spec.credentials.format.name: unknown format; known are ',
    ],
    [
      'a label that is not allowed',
      { ...postgres, secretLabels: { 'apps.cozystack.io/x': 'y' } },
      {},
      'spec.credentials.secretLabels["apps.cozystack.io/x"]: labels under apps.cozystack.io are not allowed',
    ],
    [
      'a selector that would show account Secrets',
      postgres,
      { secrets: { include: [{}] } },
      'spec.secrets: selects account Secrets, which no tenant may read',
    ],
    [
      'a webhook at an address that is not allowed',
      {
        ...postgres,
        format: {
          kind: 'Webhook',
          name: 'x',
          webhook: { clientConfig: { url: 'https://169.254.169.254/' } },
        },
      },
      {},
      'spec.credentials.format.webhook.clientConfig.url: must be a name: an address has to be in MINTONCE_WEBHOOK_HOSTS itself',
    ],
  ])('names %s by its field', async (_, block, parts, says) => {
    const path = await file(definition(block, parts))
    const { code, stdout, stderr } = await check(path)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`: ApplicationDefinition "postgres": ${says}`)
  })

  test('names two definitions of one kind', async () => {
    const path = await file(`${definition(postgres)}---\n${definition(postgres, { name: 'again' })}`)
    const { code, stderr } = await check(path)
    expect(code).toBe(1)
    expect(stderr).toContain('several ApplicationDefinitions define the kind Postgres: postgres, again')
  })

  test('shows the accounts that a release would have', async () => {
    const definitions = await file(definition(postgres))
    const values = { users: { web: {}, 'App.User': {}, gone: null } }
    const valuesFrom = [{ kind: 'Secret', name: 'cozystack-values' }]
    const path = await file(release(values, { valuesFrom }))
    const { code, stdout, stderr } = await check(definitions, '--release', path)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n').slice(1)).toEqual([
      'CREDENTIAL                 USERNAME   OWNER',
      'postgres-orders.web        web        tenant',
      'postgres-orders.app-user   App.User   tenant',
      '-                          postgres   platform',
      'values that it takes from references (Secret/cozystack-values) are not read',
      '',
    ])
  })

  test('names accounts that collide, that are the platform’s, and that make no name', async () => {
    const definitions = await file(definition(postgres))
    const path = await file(
      release({ users: { 'a.b': {}, 'a-b': {}, Postgres: {}, '-a': {}, web: {}, odd: 7 } }),
    )
    const { code, stdout, stderr } = await check(definitions, '--release', path)
    expect(code).toBe(1)
    expect(stdout).toContain('postgres-orders.web')
    expect(stderr).toContain(
      'the usernames "a-b" and "a.b" map to one account name, "a-b": rename one of them',
    )
    expect(stderr).toMatch(/"Postgres" and "postgres" map to one account name.* an account of the platform/)
    expect(stderr).toContain('the username "-a" makes no valid name')
    expect(stderr).toContain('spec.values.users["odd"]: must be a map, and is a number')
  })

  test('says that it asks no webhook', async () => {
    const webhook = { clientConfig: { service: { namespace: 'cozy-system', name: 'accounts' } } }
    const accounts = [...postgres.accounts, { kind: 'Webhook', webhook }]
    const definitions = await file(definition({ ...postgres, accounts }))
    const { code, stdout, stderr } = await check(
      definitions,
      '--release',
      await file(release({ users: { web: {} } })),
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('a check asks no webhook')
    expect(stdout).toContain('postgres-orders.web')
  })

  test.each([
    [
      'no application',
      stringify({ kind: 'HelmRelease', metadata: { name: 'x' } }),
      'has not the labels of an application',
    ],
    [
      'another kind',
      release({}).replaceAll(': Postgres', ': Redis'),
      'no definition of its kind Redis was given',
    ],
  ])('fails for a release of %s', async (_, text, says) => {
    const { code, stderr } = await check(await file(definition(postgres)), '--release', await file(text))
    expect(code).toBe(1)
    expect(stderr).toContain(says)
  })

  test.each([
    ['is not there', undefined, /cannot be read \(ENOENT\)/],
    ['is no YAML', 'a: b: c', /is no YAML: \w+ at line 1, column \d+/],
    ['says a thing twice', 'kind: A\nkind: B\n', /is no YAML: DUPLICATE_KEY at line 2, column 1/],
    ['holds something else', 'kind: Secret\n', /holds no ApplicationDefinition/],
    ['is empty', '', /holds no ApplicationDefinition/],
  ])('ends with 2 when a file %s', async (_, text, says) => {
    const path = text === undefined ? join(folder, 'missing.yaml') : await file(text)
    const { code, stderr } = await check(path)
    expect(code).toBe(2)
    expect(stderr).toMatch(says)
  })
})

test.each([
  ['spec.credentials: is empty', (text: string) => `${text}  credentials:\n`],
  [
    'spec["credential"]: unknown field; did you mean credentials?',
    (text: string) => `${text}  credential: {}\n`,
  ],
])('a block that nobody would read is a problem: %s', async (problem, write) => {
  const path = await file(write(definition(undefined)))
  const { code, stdout, stderr } = await check(path)
  expect(code).toBe(1)
  expect(stdout + stderr).toContain(problem)
})

test('YAML is read as kubectl reads it: `yes` is no text', async () => {
  const text = definition({ ...postgres, secretLabels: { 'cnpg.io/reload': 'LABEL' } }).replace(
    'LABEL',
    'yes',
  )
  const { code, stdout, stderr } = await check(await file(text))
  expect(code).toBe(1)
  expect(stdout + stderr).toContain('must be a string')
})

test('a definition comes from standard input as well', async () => {
  const { code, stdout } = await runInShell(
    `printf '%s' '${definition(postgres)}' | '${process.execPath}' src/cli.ts definition check -`,
  )
  expect(code).toBe(0)
  expect(stdout).toContain('-: ApplicationDefinition "postgres": ')
})
