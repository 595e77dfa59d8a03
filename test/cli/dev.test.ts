import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { invitationOf } from '../../src/cli/dev.ts'
import type { ApiServer } from '../contract/backends/api-server.ts'
import { startSandboxApiServer } from '../contract/backends/sandbox-api-server.ts'
import { refusalOf } from '../helpers/refusal.ts'
import { answersTo, pasteable, ROOT, runCommand, runInShell, type Served, serveCommand } from './command.ts'

const TIMEOUT_MS = 30_000
const CLUSTER = { context: 'kind-acme', server: 'https://127.0.0.1:6443' }

async function served(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const serving = await serveCommand(args, { env })
  onTestFinished(async () => void (await serving.stop()))
  return serving
}

/** A kubeconfig of the function's own identity. Its current context is another one. */
async function kubeconfigOf(api: ApiServer, server?: string): Promise<string> {
  const { url, tokenFile } = await api.forProcess()
  const path = `${tokenFile}.kubeconfig`
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'acme', cluster: { server: server ?? url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'function', user: { token: await readFile(tokenFile, 'utf8') } }],
    contexts: [{ name: 'acme', context: { cluster: 'acme', user: 'function' } }],
    'current-context': 'away',
  }
  await writeFile(path, JSON.stringify(kubeconfig))
  return path
}

describe('dev', { timeout: TIMEOUT_MS }, () => {
  let sandbox: Served
  beforeAll(async () => {
    sandbox = await serveCommand([])
  }, TIMEOUT_MS)
  afterAll(async () => void (await sandbox.stop()))

  test('prints lines that list, mint, read and revoke when they are pasted', async () => {
    const answers = await answersTo(pasteable(sandbox.output()))
    expect(answers).toMatchObject([
      { kind: 'CredentialList', items: [] },
      { kind: 'CredentialRequest', status: { username: 'web', password: expect.stringMatching(/^\w{32}$/) } },
      { kind: 'Credential', status: { password: { origin: 'Minted', by: 'jane@example.org' } } },
      { kind: 'CredentialRequest', status: { username: 'web' } },
    ])
    expect(answers[3].status).not.toHaveProperty('password')
  })

  test('every credential and every token that it names is what it says', async () => {
    const { output, origin } = sandbox
    const api = `${origin}/apis/core.cozystack.io/v1alpha1/namespaces/tenant-acme/credentials`
    const mint = async (credential: string, token: string) => {
      const headers = { Authorization: `Bearer ${token}` }
      return (await fetch(`${api}/${credential}/mint`, { method: 'POST', headers })).status
    }
    const credentials = /Other credentials: (.*)/.exec(output())?.[1]?.split(', ') ?? []
    expect(await Promise.all(credentials.map((credential) => mint(credential, 'pipeline')))).toEqual(
      Array(4).fill(201),
    )
    expect(await mint('postgres-orders.web', 'tenant-viewer')).toBe(403)
    expect(await mint('postgres-orders.web', 'stranger')).toBe(403)
    for (const token of ['tenant-viewer', 'pipeline', 'stranger']) expect(output()).toContain(`${token} (`)
  })

  test('listens on loopback only', () => {
    expect(sandbox.origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  })

  test('serves the group and the audience that the environment names', async () => {
    const { output } = await served([], {
      MINTONCE_API_GROUP: 'credentials.cozystack.io',
      MINTONCE_AUDIENCES: 'another',
    })
    expect(output()).toContain('/apis/credentials.cozystack.io/v1alpha1/')
    expect((await runInShell(pasteable(output()))).stdout).toContain('"password":"')
  })

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends at once on %s, with a connection open too', async (signal, code) => {
    const { origin, stop } = await served()
    await (await fetch(`${origin}/livez`)).text()
    const from = performance.now()
    expect(await stop(signal)).toBe(code)
    expect(performance.now() - from).toBeLessThan(2000)
  })

  test('says which port is in use, and ends with 1', async () => {
    const { port } = new URL(sandbox.origin)
    const { code, stderr } = await runCommand(['dev'], { env: { PORT: port } })
    expect(code).toBe(1)
    expect(stderr).toBe(
      `mintonce: 127.0.0.1:${port} is in use: choose another port with PORT (0: any that is free)\n`,
    )
  })

  test('names every wrong variable at once, and ends with 1', async () => {
    const { code, stderr } = await runCommand(['dev'], { env: { PORT: 'x', MINTONCE_LOGLEVEL: 'info' } })
    expect(code).toBe(1)
    expect(stderr).toContain('PORT: must be a whole number')
    expect(stderr).toContain('MINTONCE_LOGLEVEL: there is no such setting')
  })

  test('with a kubeconfig it asks that cluster, as whom the kubeconfig says', async () => {
    const api = await startSandboxApiServer()
    onTestFinished(api.stop)
    const { origin, output } = await served(['--kubeconfig', await kubeconfigOf(api), '--context', 'acme'])
    expect(output()).toContain('context acme (http://127.0.0.1:')
    const token = await api.tokenOf('tenant-acme', 'someone')
    const answer = await fetch(
      `${origin}/apis/core.cozystack.io/v1alpha1/namespaces/tenant-acme/credentials`,
      { headers: { Authorization: `Bearer ${token}` } },
    )
    expect(await answer.json()).toMatchObject({
      code: 403,
      message: expect.stringContaining('system:serviceaccount:tenant-acme:someone'),
    })
  })

  test('a cluster that is away is told at once, and served all the same', async () => {
    const api = await startSandboxApiServer()
    onTestFinished(api.stop)
    const path = await kubeconfigOf(api, 'https://127.0.0.1:1')
    const { origin, output } = await served(['--kubeconfig', path, '--context', 'acme'])
    await vi.waitFor(() => expect(output()).toContain('not ready: the Kubernetes API: kube_unreachable'))
    expect((await fetch(`${origin}/livez`)).status).toBe(200)
  })

  test('a kubeconfig that is not there is named', async () => {
    const { code, stderr } = await runCommand(['dev', '--kubeconfig', '/nowhere/config'])
    expect(code).toBe(1)
    expect(stderr).toContain('/nowhere/config')
  })
})

test('in front of a cluster, the lines get a token for the audience that is asked for', () => {
  const lines = invitationOf({
    origin: 'http://127.0.0.1:8080',
    group: 'core.cozystack.io',
    audiences: ['mintonce', 'second'],
    cluster: CLUSTER,
  })
  expect(lines).toContain('context kind-acme (https://127.0.0.1:6443)')
  expect(lines).toContain(
    'TOKEN=$(kubectl --context kind-acme -n $NAMESPACE create token default --audience mintonce)',
  )
  expect(lines).not.toContain('tenant-admin')
})

// npm hands a signal to the shell that it starts, which hands it to nobody.
test('npm run dev: who ends npm ends what it serves', { timeout: TIMEOUT_MS }, async () => {
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', PORT: '0' }
  const npm = spawn('npm', ['run', 'dev'], { env, cwd: ROOT })
  onTestFinished(() => void npm.kill('SIGKILL'))
  let output = ''
  npm.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
  })
  const origin = () => /served on (http:\/\/\S+?)\. /.exec(output)?.[1]
  await vi.waitFor(() => expect(origin()).toBeDefined(), { timeout: TIMEOUT_MS, interval: 50 })
  expect((await fetch(`${origin()}/livez`)).status).toBe(200)
  const ended = once(npm, 'close')
  npm.kill('SIGTERM')
  await ended
  await expect.poll(() => refusalOf(origin() ?? '')).toBe('ECONNREFUSED')
})

test('every script that goes on until a signal is run in place of the shell', async () => {
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const dev = Object.entries(scripts).filter(([name]) => /^dev\b/.test(name))
  expect(dev.length).toBeGreaterThan(2)
  for (const [, script] of dev) expect(script).toMatch(/^exec node /)
})
