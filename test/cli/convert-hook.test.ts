import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hintOf } from '../../src/conversion/causes.ts'
import type { ApiServer } from '../contract/backends/api-server.ts'
import { startSandboxApiServer } from '../contract/backends/sandbox-api-server.ts'
import { type Admin, type Anything, adminOf } from '../contract/kube.ts'
import { releaseOf } from '../contract/tenant.ts'
import { accepts } from '../contract/verify.ts'
import { fileDefinitions, TENANT } from '../conversion/hook-place.ts'
import { allowRecord } from '../helpers/record-rights.ts'
import { ended, ROOT, runCommand } from './command.ts'

const TIMEOUT_MS = 30_000
const PLATFORM = 'cozy-system'
const RELEASES = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${TENANT}/helmreleases`
const SECRETS = `/api/v1/namespaces/${TENANT}/secrets`
const RECORD = `/api/v1/namespaces/${PLATFORM}/configmaps/credential-conversion`
const PASSWORD = 'Pl41nt3xt'

const object = (kind: string, name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind,
  metadata: { name },
  ...more,
})

/** As a process in front of an API server, with the rights of the function and those that it has not. */
describe('convert hook', { timeout: TIMEOUT_MS }, () => {
  let api: ApiServer
  let admin: Admin
  let env: Readonly<Record<string, string>>
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mintonce-convert.'))
    api = await startSandboxApiServer()
    admin = adminOf(api.admin)
    for (const name of [PLATFORM, TENANT]) await admin.create('/api/v1/namespaces', object('Namespace', name))
    for (const [name, users] of [
      ['orders', { web: PASSWORD, report: `${PASSWORD}\n` }],
      ['books', { clerk: '' }],
    ] as const) {
      const values = { users: Object.fromEntries(Object.keys(users).map((user) => [user, {}])) }
      await admin.create(RELEASES, releaseOf('Postgres', name, values))
      const data = Object.fromEntries(Object.entries(users).map(([user, each]) => [user, btoa(each)]))
      await admin.create(SECRETS, object('Secret', `postgres-${name}-credentials`, { data }))
    }
    const { url, tokenFile } = await api.forProcess()
    env = { MINTONCE_KUBE_URL: url, MINTONCE_KUBE_TOKEN_FILE: tokenFile }
    await allowRecord(admin, PLATFORM)
    for (const { file, definition } of fileDefinitions()) {
      const whole = { apiVersion: 'cozystack.io/v1alpha1', kind: 'ApplicationDefinition', ...definition }
      await writeFile(join(folder, file), JSON.stringify(whole))
    }
  })
  afterAll(async () => {
    await api.stop()
    await rm(folder, { recursive: true })
  })

  const run = (...args: readonly string[]) =>
    runCommand(['convert', 'hook', '--platform-namespace', PLATFORM, ...args], { env })
  const definitions = (...kinds: readonly string[]) => [
    '--definitions',
    ...kinds.map((kind) => join(folder, `${kind}.yaml`)),
  ]
  const linesOf = (stderr: string): readonly Anything[] =>
    stderr
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))

  test('says in a dry run what it would do, and does nothing', async () => {
    const { code, stdout, stderr } = await run(...definitions('postgres', 'redis'), '--dry-run')
    expect(code).toBe(0)
    expect(stdout.replace(/ {2,}/g, '  ').split('\n')).toEqual(
      expect.arrayContaining([
        'NAMESPACE  RELEASE  USER  SECRET  WOULD BE',
        'tenant-acme  postgres-orders  web  postgres-orders.web.account  created with the value of the password from before',
        'NAMESPACE  RELEASE  SKIPPED  WHAT',
        `PasswordMissing: ${hintOf('PasswordMissing')}`,
        '2  releases of the kinds to convert (dry run: nothing was written)',
      ]),
    )
    expect(stdout).toMatch(/tenant-acme\/postgres-orders: the password of user "report" ends in a line break/)
    expect(linesOf(stderr).every(({ dryRun = true }) => dryRun)).toBe(true)
    expect(await admin.find(RECORD)).toBeUndefined()
    expect(await admin.find(`${SECRETS}/postgres-orders.web.account`)).toBeUndefined()
  })

  test('converts what can be converted, says what it left out, and succeeds', async () => {
    const { code, stdout, stderr } = await run(...definitions('postgres'))
    expect({ code, stdout: stdout.replace(/ {2,}/g, '  ') }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/\n1 {2}releases that were left out, or a part of them\n$/),
    })
    const events = linesOf(stderr).map(({ event }) => event)
    expect(events.filter((event) => event === 'conversion_release')).toHaveLength(2)
    expect(events).toContain('conversion_skipped')
    expect(events).toContain('conversion_progress')
    expect(events.at(-1)).toBe('conversion_end')
    const { data } = await admin.get(`${SECRETS}/postgres-orders.report.account`)
    expect(accepts(atob(data.password), `${PASSWORD}\n`)).toBe(true)
    expect(Object.keys((await admin.get(RECORD)).data)).toHaveLength(2)
    for (const said of [stdout, stderr, JSON.stringify(await admin.get(RECORD))]) {
      expect(said).not.toContain(PASSWORD)
      expect(said).not.toContain('SCRAM-SHA-256$')
    }
  })

  test('answers as JSON, each skip with its hint, and the summary beside it', async () => {
    const { code, stdout, stderr } = await run(...definitions('postgres'), '-o', 'json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      part: 'hook',
      is: 'finished',
      dryRun: false,
      total: 2,
      releases: [
        {
          release: 'postgres-books',
          accounts: [],
          skips: [{ cause: 'PasswordMissing', hint: hintOf('PasswordMissing') }],
        },
        {
          release: 'postgres-orders',
          accounts: [{ result: 'unchanged' }, { result: 'unchanged' }],
          skips: [],
        },
      ],
    })
    expect(stderr).toMatch(/^2 {3}account Secrets that were there and were left alone$/m)
  })

  test.each([
    ['that is not there', 'nowhere', /nowhere\.yaml: cannot be read \(ENOENT\)/],
    ['that is no definition', 'config', /config\.yaml: holds no ApplicationDefinition/],
    ['that is wrong', 'wrong', /wrong\.yaml: spec\.credentials\.format\.name: unknown format/],
    ['that the cluster contradicts', 'other', /postgres in the cluster: spec\.credentials: differs/],
  ])('fails by a file %s', async (_what, name, says) => {
    const text = await readFile(join(folder, 'postgres.yaml'), 'utf8')
    await writeFile(join(folder, 'config.yaml'), '{"kind":"ConfigMap"}')
    await writeFile(join(folder, 'wrong.yaml'), text.replace('scram-sha-256', 'rot13'))
    await writeFile(join(folder, 'other.yaml'), text.replace('cnpg.io/reload', 'cnpg.io/other'))
    const { code, stdout, stderr } = await run(...definitions(name))
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(says)
  })

  test('fails by a platform namespace that is none, and says so', async () => {
    const { code, stderr } = await runCommand(
      ['convert', 'hook', '--platform-namespace', 'nowhere', ...definitions('postgres')],
      { env },
    )
    expect(code).toBe(1)
    expect(stderr).toContain('could not read the record')
  })

  test('fails where the API server is away', async () => {
    const away = { ...env, MINTONCE_KUBE_URL: 'http://127.0.0.1:1' }
    const { code, stderr } = await runCommand(
      ['convert', 'hook', '--platform-namespace', PLATFORM, ...definitions('postgres')],
      { env: away },
    )
    expect(code).toBe(1)
    expect(stderr).toMatch(/cannot be listed: kube_unreachable/)
  })

  test('ends what it has begun when it is told to end, and goes on when it is run again', async () => {
    const many = Array.from({ length: 150 }, (_, index) => `r${index}`)
    for (const name of many) {
      await admin.create(RELEASES, releaseOf('MariaDB', name, { users: { till: {} } }))
      const data = { till: btoa(PASSWORD) }
      await admin.create(SECRETS, object('Secret', `mariadb-${name}-credentials`, { data }))
    }
    const args = [...definitions('mariadb'), '--concurrency', '1', '-o', 'json']
    const child = spawn(
      process.execPath,
      [join(ROOT, 'src/cli.ts'), 'convert', 'hook', '--platform-namespace', PLATFORM, ...args],
      { env: { PATH: process.env.PATH, ...env } },
    )
    child.stderr.once('data', () => child.kill('SIGTERM'))
    const { code, stdout, stderr } = await ended(child)
    expect(code).toBe(1)
    expect(stderr).toMatch(/interrupted after \d+ of 150 releases: run it again/)
    const { is, releases } = JSON.parse(stdout)
    expect(is).toBe('interrupted')
    expect(releases.length).toBeLessThan(150)
    const again = JSON.parse((await run(...definitions('mariadb'), '-o', 'json')).stdout)
    const results = again.releases.flatMap(({ accounts }: Anything) =>
      accounts.map(({ result }: Anything) => result),
    )
    expect(results.filter((result: string) => result === 'unchanged')).toHaveLength(releases.length)
    expect(results).toHaveLength(150)
  })

  test('ends with 2 for what it does not understand', async () => {
    expect(await run()).toMatchObject({ code: 2, stderr: expect.stringContaining('needs --definitions') })
  })
})
