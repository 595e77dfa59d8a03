import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Admin, adminOf, decode } from '../contract/kube.ts'
import { accepts } from '../contract/verify.ts'
import { command, type Finished, succeed } from '../control-plane/command.ts'
import { fencesIn, readPage } from '../docs/blocks.ts'
import { type CutProxy, startCutProxy } from '../helpers/cut-proxy.ts'
import { requirePython } from '../helpers/python.ts'
import { type Aggregated, GROUP, startAggregated } from './aggregated.ts'
import { type AggregatedTenant, createAggregatedTenant } from './aggregated-tenant.ts'
import { registerApiService } from './api-service.ts'
import { type Followed, follow } from './follow.ts'

/** The Go and the Python example, as their pages say to run them, through the aggregation layer of a real kube-apiserver. */

const WEB = 'postgres-orders.web'
const PASSWORD = /^[A-Za-z0-9]{32}$/

/** A program of the examples. */
interface Caller {
  readonly page: string
  /** Its command in the page's folder, built or installed by then: what comes before the arguments. */
  readonly program: readonly [string, ...(readonly string[])]
  readonly folder: string
  /** How it says that nobody knows what happened, and that nothing was stored. */
  readonly unknown: RegExp
  readonly refused: RegExp
}

const CALLERS: readonly Caller[] = [
  {
    page: 'docs/callers/go.md',
    program: ['./go-client'],
    folder: 'examples/go-client',
    // Above it client-go says on its own account what broke.
    unknown: /^nobody knows whether it was stored: /m,
    refused: /^(?!.*nobody knows)/s,
  },
  {
    page: 'docs/callers/python.md',
    program: ['.venv/bin/python', 'credentials.py'],
    folder: 'examples/python-client',
    unknown: /^Unknown: /,
    refused: /^Refused: /,
  },
]

let aggregated: Aggregated
let wire: CutProxy
let tenant: AggregatedTenant
let admin: Admin
const kubeconfigs = { jane: '', victor: '', bob: '' }

beforeAll(async () => {
  await requirePython()
  aggregated = await startAggregated()
  wire = await startCutProxy(aggregated.entry.port)
  await registerApiService(aggregated.plane, wire.port, GROUP)
  admin = adminOf(aggregated.plane.adminFetch)
  tenant = await createAggregatedTenant(aggregated, 'tenant-acme')
  await tenant.release('Postgres', 'orders', { users: { web: {}, report: {} } })
  for (const who of ['jane', 'victor', 'bob'] as const) {
    kubeconfigs[who] = await aggregated.plane.kubeconfigFor(who, [])
  }
})
afterAll(async () => {
  await aggregated?.stop()
  await wire?.stop()
})

async function isStored(password: string): Promise<boolean> {
  const { data } = await admin.get(`/api/v1/namespaces/tenant-acme/secrets/${WEB}.account`)
  return accepts(decode(data.password), password)
}

/** How often the function has stored something so far. */
const stored = (): number =>
  [...aggregated.entry.output().matchAll(/"operation":"(?:Mint|Revoke)".*"code":201/g)].length

describe.each(CALLERS)('$page', ({ page: path, program, folder, unknown, refused }) => {
  let page: Followed
  let server: Server
  /** What the server in place of kube-apiserver was asked, and how it answers. */
  let asked: string[]
  let answer: (response: ServerResponse) => void
  let standIn: string

  beforeAll(async () => {
    page = await follow(path, { ...aggregated.plane, kubeconfig: kubeconfigs.jane })
    server = createServer(async (request, response) => {
      asked.push(`${request.method} ${await text(request)}`)
      answer(response)
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const kubeconfig = JSON.parse(await readFile(kubeconfigs.jane, 'utf8'))
    kubeconfig.clusters[0].cluster = { server: `http://127.0.0.1:${port}` }
    kubeconfig.users[0].user = { token: 'a-token' }
    standIn = join(page.folder, 'stand-in.kubeconfig')
    await writeFile(standIn, JSON.stringify(kubeconfig))
  })
  afterAll(async () => {
    server?.close()
    await page?.remove()
  })

  const run = (kubeconfig: string, ...args: readonly string[]): Promise<Finished> => {
    const [file, ...before] = program
    return command(file, [...before, ...args], {
      cwd: join(page.folder, folder),
      env: { KUBECONFIG: kubeconfig },
    })
  }
  const mint = (kubeconfig: string, name = WEB) => run(kubeconfig, '-n', 'tenant-acme', 'mint', name)

  /** One call to the server in place of kube-apiserver. */
  async function against(how: (response: ServerResponse) => void): Promise<Finished> {
    asked = []
    answer = how
    return mint(standIn)
  }

  test('the commands of the page mint and revoke', async () => {
    const before = stored()
    await page.run('Build it')
    const [minted = '', ...more] = (await page.run('Run it')).trim().split('\n')
    const answered = JSON.parse(minted)
    expect(answered).toEqual({
      username: 'web',
      password: expect.stringMatching(PASSWORD),
      issuedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    expect(more.map((line) => Object.keys(JSON.parse(line)).toSorted())).toEqual([['issuedAt', 'username']])
    expect(stored()).toBe(before + 2)
    expect(await isStored(answered.password)).toBe(false)
    expect(page.left()).toEqual([])
  })

  test('the password is the one that is stored, and nothing is said beside it', async () => {
    const { code, stdout, stderr } = await mint(kubeconfigs.jane)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await isStored(JSON.parse(stdout).password)).toBe(true)
    const { status } = await admin.get(tenant.path(WEB))
    expect(status.history[0]).toMatchObject({ operation: 'Mint', by: 'jane' })
  })

  test('a ServiceAccount, by its token: what a pod has', async () => {
    const { plane } = aggregated
    const who = 'system:serviceaccount:tenant-acme:default'
    await tenant.bindRole(who, [{ apiGroups: [GROUP], resources: ['credentials/mint'], verbs: ['create'] }])
    const kubeconfig = JSON.parse(await readFile(kubeconfigs.jane, 'utf8'))
    kubeconfig.users[0].user = { token: await plane.tokenOf('tenant-acme', 'default') }
    const file = join(page.folder, 'pod.kubeconfig')
    await writeFile(file, JSON.stringify(kubeconfig))
    const { stdout } = await mint(file)
    expect(await isStored(JSON.parse(stdout).password)).toBe(true)
    const { status } = await admin.get(tenant.path(WEB))
    expect(status.history[0]).toMatchObject({ operation: 'Mint', by: who })
  })

  test.each([
    ['nobody may', 'bob', WEB, 'User "bob" cannot create resource "credentials/mint"'],
    ['who may look may not mint', 'victor', WEB, 'User "victor" cannot create resource "credentials/mint"'],
    ['no such account', 'jane', 'postgres-orders.nobody', '"nobody"'],
  ] as const)('%s: nothing is stored, and it says why', async (_what, who, name, says) => {
    const before = stored()
    const { code, stdout, stderr } = await mint(kubeconfigs[who], name)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(refused)
    expect(stderr).toContain(says)
    expect(stored()).toBe(before)
  })

  test('the answer is lost on the wire: stored once, and it says that nobody knows', async () => {
    const before = stored()
    const cut = wire.cutNextAnswer()
    const { code, stdout, stderr } = await mint(kubeconfigs.jane)
    await cut
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(unknown)
    expect(stored()).toBe(before + 1)
  })

  const status = (code: number) =>
    JSON.stringify({ kind: 'Status', apiVersion: 'v1', code, message: 'later' })
  const RETRY = { 'Retry-After': '0', 'Content-Type': 'application/json' }
  test.each<[string, (response: ServerResponse) => void]>([
    ['500 with Retry-After', (response) => response.writeHead(500, RETRY).end(status(500))],
    ['503 with Retry-After', (response) => response.writeHead(503, RETRY).end(status(503))],
    ['504', (response) => response.writeHead(504).end('gave up')],
    ['no answer', (response) => response.destroy()],
    ['half an answer', half],
    ['something else', (response) => response.writeHead(200).end('{"password":"not-to-be-quoted"}')],
    ['a redirection', (response) => response.writeHead(307, { Location: '/again' }).end()],
  ])('%s: one request, and nobody knows what came of it', async (_what, how) => {
    const { code, stdout, stderr } = await against(how)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(unknown)
    expect(stderr).not.toContain('not-to-be-quoted')
    // Never an empty body, which the aggregation layer would send twice.
    expect(asked).toEqual(['POST {"kind":"CredentialRequest"}'].map((call) => expectBody(call, asked)))
  })

  test('429 with Retry-After: one request, and nothing was stored', async () => {
    const { code, stderr } = await against((response) => response.writeHead(429, RETRY).end(status(429)))
    expect(code).toBe(1)
    expect(stderr).toMatch(refused)
    expect(asked).toHaveLength(1)
  })

  test.each([
    ['a name that is another path', ['-n', 'tenant-acme', 'mint', '../x']],
    ['a name that is the folder above', ['-n', 'tenant-acme', 'mint', '..']],
    ['a namespace that is another path', ['-n', '../x', 'mint', WEB]],
    ['no name', ['-n', 'tenant-acme', 'mint']],
    ['an option that there is not', ['--nope']],
  ])('%s: nothing is sent, and it does not say that nobody knows', async (_what, args) => {
    asked = []
    const { code, stdout, stderr } = await run(standIn, ...args)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).not.toMatch(unknown)
    expect(asked).toEqual([])
  })

  test('nobody to connect to: nothing is sent, and it does not say that nobody knows', async () => {
    const kubeconfig = JSON.parse(await readFile(standIn, 'utf8'))
    kubeconfig.clusters[0].cluster = { server: 'http://127.0.0.1:1' }
    const file = join(page.folder, 'nobody.kubeconfig')
    await writeFile(file, JSON.stringify(kubeconfig))
    const { code, stderr } = await mint(file)
    expect(code).toBe(1)
    expect(stderr).not.toMatch(unknown)
  })

  test.each(['named', 'in the environment'])(
    'a kubeconfig that is not there, %s: nobody else is called instead',
    async (how) => {
      asked = []
      const { port } = server.address() as AddressInfo
      const [file, ...before] = program
      const there = how === 'named' ? ['--kubeconfig', '/nonexistent'] : []
      const env = {
        KUBECONFIG: how === 'named' ? '' : '/nonexistent',
        HOME: page.folder,
        // As in a pod.
        KUBERNETES_SERVICE_HOST: '127.0.0.1',
        KUBERNETES_SERVICE_PORT: String(port),
      }
      const args = [...before, ...there, '-n', 'tenant-acme', 'mint', WEB]
      const { code, stdout, stderr } = await command(file, args, { cwd: join(page.folder, folder), env })
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/^(?:NotSent: |stat )?\/nonexistent: /m)
      expect(stderr).not.toContain('Traceback')
      expect(asked).toEqual([])
    },
  )

  test('outside of a pod and without a kubeconfig it says so', async () => {
    const [file, ...before] = program
    const env = { KUBECONFIG: '', HOME: join(page.folder, 'docs'), KUBERNETES_SERVICE_HOST: '' }
    const args = [...before, '-n', 'tenant-acme', 'mint', WEB]
    const { code, stderr } = await command(file, args, { cwd: join(page.folder, folder), env })
    expect(code).toBe(1)
    expect(stderr).toContain('no kubeconfig')
    expect(stderr).not.toContain('Traceback')
  })

  test('a mint that fails leaves the file of the last one as it is', async () => {
    const login = join(page.folder, 'login.json')
    await writeFile(login, 'the last one')
    const refused = await follow(
      path,
      { ...aggregated.plane, kubeconfig: kubeconfigs.bob },
      (block) => `cd '${page.folder}'\n${block}`,
    )
    try {
      await expect(refused.run('Run it')).rejects.toThrow('forbidden')
    } finally {
      await refused.remove()
    }
    expect(await readFile(login, 'utf8')).toBe('the last one')
  })

  test('what the page quotes of the program is what the program says', async () => {
    const sources = await Promise.all(
      ['client.go', 'main.go', 'credentials.py'].map((name) =>
        readFile(join(page.folder, folder, name), 'utf8').catch(() => ''),
      ),
    )
    const quoted = fencesIn((await readPage(path)).text).filter(({ mark }) => mark === 'quoted')
    expect(quoted.length).toBeGreaterThan(0)
    for (const { block } of quoted) expect(sources.join('\n')).toContain(block.trimEnd())
  })
})

/** Programs write JSON with and without spaces. */
function expectBody(wanted: string, asked: readonly string[]): string {
  const [got = ''] = asked
  return got.replaceAll(' ', '') === wanted.replaceAll(' ', '') ? got : wanted
}

function half(response: ServerResponse): void {
  response.writeHead(201, { 'Content-Type': 'application/json', 'Content-Length': '400' })
  response.write('{"kind":"CredentialRequest","status":{"password":"not-to-be-quoted"', () =>
    response.destroy(),
  )
}

test('Python, where somebody has turned on all logs: other answers are in them, that of a mint is not', async () => {
  const page = await follow('docs/callers/python.md', { ...aggregated.plane, kubeconfig: kubeconfigs.jane })
  try {
    await page.run('Build it')
    const code = `
import logging
import credentials
logging.basicConfig(level=logging.DEBUG)
api = credentials.connect()
logging.getLogger("kubernetes.client.rest").setLevel(logging.DEBUG)
issued = credentials.issue(api, "${GROUP}", "tenant-acme", "${WEB}", "mint")
print(issued.password)
custom = credentials.client.CustomObjectsApi(api)
custom.get_namespaced_custom_object("${GROUP}", "v1alpha1", "tenant-acme", "credentials", "${WEB}")
`
    const cwd = join(page.folder, 'examples/python-client')
    const env = { KUBECONFIG: kubeconfigs.jane }
    const { stdout, stderr } = await command('.venv/bin/python', ['-c', code], { cwd, env })
    expect(stdout.trim()).toMatch(PASSWORD)
    expect(stderr.match(/response body: .*"kind":"Credential"/g)).toHaveLength(1)
    expect(stderr).not.toContain(stdout.trim())
  } finally {
    await page.remove()
  }
})

test('Go: vet has nothing to say', async () => {
  const page = await follow('docs/callers/go.md', aggregated.plane)
  try {
    await succeed('go', ['vet', './...'], { cwd: join(page.folder, 'examples/go-client') })
  } finally {
    await page.remove()
  }
})
