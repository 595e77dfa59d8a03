import { spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { type Ended, ended } from '../cli/command.ts'
import { answerOf } from '../contract/tenant.ts'
import { accepts } from '../contract/verify.ts'
import { ciSystems } from '../helpers/ci-claims.ts'
import {
  AUDIENCE,
  type CiPlace,
  issuersOf,
  rolesOf,
  SYSTEMS,
  type SystemName,
  startCiPlace,
} from '../helpers/ci-place.ts'
import { fencesIn, readPage } from './blocks.ts'

const page = await readPage('docs/callers/ci-oidc.md')
const curlPage = await readPage('docs/callers/curl.md')
const CREDENTIALS = '/apis/core.cozystack.io/v1alpha1/namespaces/tenant-acme/credentials'
const WEB = `${CREDENTIALS}/postgres-orders.web`
const PASSWORD = /^[A-Za-z0-9]{32}$/

let place: CiPlace
beforeAll(async () => {
  place = await startCiPlace(page)
})
afterAll(() => place?.stop())

const call = async (token: string, path: string, method = 'POST') => {
  const answer = await place.backend.call(path, { method, headers: { Authorization: `Bearer ${token}` } })
  return answerOf(answer)
}

describe.each(SYSTEMS)('%s', (system) => {
  test('the configuration is one that the function accepts as it stands', async () => {
    const [issuer, ...more] = await issuersOf(page.blocks(`${system}-config`).join(''))
    expect(more).toEqual([])
    expect(issuer).toMatchObject({ url: ciSystems[system].issuer, audiences: [AUDIENCE] })
    // A public issuer signs for everybody: an organization, and which of its jobs.
    expect(issuer?.requiredClaims.size).toBeGreaterThan(2)
  })

  test('the job of the page mints, and is who the record names', async () => {
    const { status, body } = await call(await place.sign(system), `${WEB}/mint`)
    expect(status).toBe(201)
    expect(accepts(await place.stored(), body.status.password)).toBe(true)
    const seen = await call(await place.sign(system), WEB, 'GET')
    const [binding] = rolesOf(page).filter(({ metadata }) => metadata.name === `${system}-mints-orders-web`)
    expect(seen.body.status.password.by).toBe(binding.subjects[0].name)
  })

  test('it may see the credentials by its group, and do nothing else', async () => {
    const token = await place.sign(system)
    const answers = await Promise.all([
      call(token, CREDENTIALS, 'GET'),
      call(token, `${WEB}/revoke`),
      call(token, `${CREDENTIALS}/postgres-orders.report/mint`),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 403])
  })

  test.each([...ciSystems[system].others])('%s may not', async (_who, claims, code) => {
    const before = await place.stored()
    const { status, body } = await call(await place.sign(system, claims), `${WEB}/mint`)
    expect(status).toBe(code)
    expect(body.kind).toBe('Status')
    expect(await place.stored()).toBe(before)
  })

  test('a token for somebody else is refused, with the audience to ask for', async () => {
    for (const aud of ['https://vault.example.com', `${AUDIENCE}/`, 'mintonce']) {
      const { status, body } = await call(await place.sign(system, { aud }), `${WEB}/mint`)
      expect(status).toBe(401)
      expect(body.message).toContain(JSON.stringify(AUDIENCE))
    }
  })

  test('one that has expired, or that another key has signed, is refused', async () => {
    const [header, claims] = (await place.sign(system)).split('.')
    const [, , signature] = (await place.sign(system, { jti: 'another' })).split('.')
    const tokens = [await place.sign(system, { exp: 1_700_000_000 }), `${header}.${claims}.${signature}`]
    for (const token of tokens) expect((await call(token, `${WEB}/mint`)).status).toBe(401)
  })

  test('the log says which claim it was, and never its value', async () => {
    const [rule] = parse(page.blocks(`${system}-config`).join('')).jwt[0].claimValidationRules.slice(1)
    await call(await place.sign(system, { [rule.claim]: 'value-of-another' }), `${WEB}/mint`)
    const logged = place.backend.logged()
    expect(logged).toContain(`the claim ${rule.claim} has not the required value`)
    expect(logged).not.toContain('value-of-another')
  })
})

/** What the page says that no rule of its keeps out. */
describe('let in all the same', () => {
  const rows = page.text.split('\n').filter((line) => line.startsWith('| '))
  const rowOf = (start: string) => rows.find((row) => row.startsWith(`| ${start}`)) ?? ''

  test.each([
    ['a pull request of a fork', 'without the prefix its `build_branch` is that of the fork', {}],
    ['a tag `main`', 'it is its own `build_branch`', { build_tag: 'main' }],
  ])(
    'Buildkite: %s is minted for, and the table says that only settings help: %s',
    async (who, _why, claims) => {
      expect((await call(await place.sign('buildkite', claims), `${WEB}/mint`)).status).toBe(201)
      const cells = rowOf(who).split('|')
      expect(cells[4]).toContain('nothing but')
      // Of all other rows, none does.
      expect(rows.filter((row) => row.split('|')[4]?.includes('nothing but'))).toHaveLength(2)
    },
  )

  const elsewhere = 'mallory/tools/.github/workflows/any.yml@refs/heads/main'
  test('GitHub: a reusable workflow of anybody, that a job on main calls', async () => {
    const token = await place.sign('github', { job_workflow_ref: elsewhere })
    expect((await call(token, `${WEB}/mint`)).status).toBe(201)
  })

  test('GitHub: not with the rule that the page has for that', async () => {
    const [, rule = ''] = /`(\{claim: job_workflow_ref,[^`]*)`/.exec(page.text) ?? []
    const [config = ''] = page.blocks('github-config')
    const stricter = {
      ...page,
      blocks: (mark: string) =>
        mark === 'github-config' ? [`${config}      - ${rule}\n`] : page.blocks(mark),
    }
    const other = await startCiPlace(stricter)
    onTestFinished(() => other.stop())
    const codeOf = async (claims: object) => {
      const headers = { Authorization: `Bearer ${await other.sign('github', { ...claims })}` }
      return (await other.backend.call(`${WEB}/mint`, { method: 'POST', headers })).status
    }
    expect([await codeOf({}), await codeOf({ job_workflow_ref: elsewhere })]).toEqual([201, 401])
  })
})

describe('the jobs', () => {
  let folder: string
  let github: Server
  let token: string
  /** Writes the functions of the page about curl, for a function there. */
  let callsOf: (origin: string) => Promise<void>
  const file = (name: string) => join(folder, name)
  const read = (name: string) => readFile(file(name), 'utf8').catch(() => '')

  /** A command that keeps its arguments and its standard input. */
  async function standIn(name: string, more = ''): Promise<void> {
    const script = `#!/bin/sh\nprintf '%s' "$*" > '${file(`${name}.args`)}'\n${more}cat > '${file(`${name}.stdin`)}'\n`
    await writeFile(file(`bin/${name}`), script)
    await chmod(file(`bin/${name}`), 0o755)
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mintonce-ci.'))
    await mkdir(file('bin'))
    await mkdir(file('tmp'))
    await standIn('vault')
    await standIn(
      'buildkite-agent',
      `[ "$1" = redactor ] || { printf '%s' "$*" > '${file('asked')}'; cat '${file('token')}'; exit; }\n`,
    )
    const shared = fencesIn(curlPage.text).filter(({ heading }) => ['A call', 'Mint'].includes(heading))
    const script = shared.map(({ block }) => block).join('\n')
    expect(script).toContain('http://127.0.0.1:8080/')
    callsOf = (origin) => writeFile(file('mintonce.sh'), script.replace('http://127.0.0.1:8080', origin))
    // https://docs.github.com/en/actions/reference/security/oidc, "Methods for requesting the OIDC token".
    github = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://github.test')
      const asked = [pathname, searchParams.get('api-version'), searchParams.get('audience')]
      const isOurs = request.headers.authorization === 'Bearer request-token'
      const isRight = isOurs && asked.join() === `/idtoken,2.0,${AUDIENCE}`
      response.writeHead(isRight ? 200 : 400).end(JSON.stringify({ value: token }))
    })
    await new Promise<void>((resolve) => {
      github.listen(0, '127.0.0.1', resolve)
    })
  })
  afterAll(async () => {
    github?.close()
    await rm(folder, { recursive: true, force: true })
  })
  beforeEach(async () => {
    await callsOf(place.origin)
    for (const name of ['vault', 'buildkite-agent'])
      for (const kept of ['args', 'stdin']) await rm(file(`${name}.${kept}`), { force: true })
  })

  /** What a runner hands to its shell. */
  function scriptOf(system: SystemName): string {
    const job = parse(page.blocks(`${system}-job`).join(''))
    if (system === 'github') return job.jobs.mint.steps[1].run
    if (system === 'gitlab') return job.mint.script.join('\n')
    // https://buildkite.com/docs/agent/cli/reference/pipeline: the upload fills variables in, and leaves one `$` of two.
    return job.steps[1].command.replaceAll(/(?<!\$)\$(?!\$)/g, 'FILLED-IN').replaceAll('$$', '$')
  }

  async function run(system: SystemName, claims: object = {}, ...options: readonly string[]): Promise<Ended> {
    token = await place.sign(system, { ...claims })
    await writeFile(file('token'), token)
    const port = Object(github.address()).port
    const env = {
      PATH: `${file('bin')}:${process.env.PATH}`,
      HOME: folder,
      TMPDIR: file('tmp'),
      MINTONCE_TOKEN: token,
      ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/idtoken?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-token',
    }
    const shell = [...options, ...(system === 'buildkite' ? ['-e'] : ['-eo', 'pipefail'])]
    return ended(spawn('bash', [...shell, '-c', scriptOf(system)], { cwd: folder, env }))
  }

  /** All that a shell says which was told to trace, until it is told to stop. */
  const TRACED = /^(\+.*\n)*\+ set \+x\n/

  /** What stays of a log: runners take this line out, and act on it (the workflow command `add-mask`). */
  const kept = ({ stdout, stderr }: Ended): string => `${stdout.replace(/^::add-mask::\w+\n/m, '')}${stderr}`

  test.each([
    ['github', ''],
    ['gitlab', ''],
    ['buildkite', ''],
    // As CI_DEBUG_TRACE has it: https://docs.gitlab.com/ci/variables/variables_troubleshooting/
    ['github', '-x'],
    ['gitlab', '-x'],
    ['buildkite', '-x'],
  ] as const)(
    '%s %s: the password goes where it belongs, and nothing secret into the log',
    async (system, option) => {
      const done = await run(system, {}, ...(option === '' ? [] : [option]))
      expect(done.code, done.stderr).toBe(0)
      const password = await read('vault.stdin')
      expect(password).toMatch(PASSWORD)
      expect(accepts(await place.stored(), password)).toBe(true)
      expect(await read('vault.args')).toBe('kv put -mount=secret orders/web password=-')
      expect(kept(done).replace(TRACED, '')).toBe('')
      expect(await readdir(file('tmp'))).toEqual([])
      // Before anything else can print it.
      if (system === 'github') expect(done.stdout).toBe(`::add-mask::${password}\n`)
      if (system === 'buildkite') expect(await read('buildkite-agent.stdin')).toBe(password)
      if (system === 'buildkite') expect(await read('asked')).toContain('--claim organization_id')
    },
  )

  /** What has the code of a success, or no error for curl, and no password. */
  const EMPTY: readonly (readonly [code: number, body: string])[] = [
    [308, ''],
    [302, ''],
    [201, ''],
    [200, '<html>'],
    [201, '{}'],
    [201, '{"status":{"password":null}}'],
  ]
  test.each(SYSTEMS)(
    '%s: an answer without a password fails the job, and nothing is handed on',
    async (system) => {
      let now: (typeof EMPTY)[number] = [500, '']
      const server = createServer((_request, response) => {
        response.writeHead(now[0], now[0] < 300 ? {} : { Location: 'https://mintonce.test/' }).end(now[1])
      })
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve)
      })
      onTestFinished(() => void server.close())
      await callsOf(`http://127.0.0.1:${Object(server.address()).port}`)
      for (now of EMPTY) {
        const done = await run(system)
        expect({ failed: done.code !== 0, stdout: done.stdout }, JSON.stringify(now)).toEqual({
          failed: true,
          stdout: '',
        })
        expect(await read('vault.args')).toBe('')
        expect(kept(done)).not.toContain(token)
      }
    },
  )

  test.each(SYSTEMS)('%s: a job that is refused fails, and hands nothing on', async (system) => {
    const [, claims = {}] = ciSystems[system].others.find(([, , code]) => code === 403) ?? []
    const done = await run(system, claims)
    expect(done.code).not.toBe(0)
    expect(done.stderr).toContain('403 Forbidden: ')
    expect(done.stdout).toBe('')
    expect(await read('vault.args')).toBe('')
    expect(kept(done)).not.toContain(token)
  })

  test('two runs at once are one after the other, or the older password would be handed on last', () => {
    const [github, gitlab, buildkite] = SYSTEMS.map((system) => parse(page.blocks(`${system}-job`).join('')))
    expect(github.concurrency).toBe('mint-orders-web')
    expect(gitlab.mint.resource_group).toBe('mint-orders-web')
    expect(buildkite.steps[1]).toMatchObject({ concurrency: 1, concurrency_group: 'mint-orders-web' })
  })
})
