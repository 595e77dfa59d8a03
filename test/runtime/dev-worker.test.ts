import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { answersTo, ended, pasteable, ROOT, type Served, serveWorker } from '../cli/command.ts'
import { refusalOf } from '../helpers/refusal.ts'

/** Runs `npm run dev:worker -- …` until it ends by itself. */
const runWorker = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  ended(
    spawn(process.execPath, [join(ROOT, 'dev/worker.ts'), ...args], {
      env: { PATH: process.env.PATH, PORT: '0', ...env },
    }),
  )

async function served(env: Readonly<Record<string, string>> = {}) {
  const serving = await serveWorker(['--sandbox'], env)
  onTestFinished(async () => void (await serving.stop()))
  return serving
}

describe('dev:worker -- --sandbox', () => {
  let sandbox: Served
  beforeAll(async () => {
    sandbox = await serveWorker(['--sandbox'])
  })
  afterAll(async () => void (await sandbox?.stop()))

  test('prints lines that list, mint, read and revoke when they are pasted', async () => {
    const answers = await answersTo(pasteable(sandbox.output()))
    expect(answers).toMatchObject([
      { kind: 'CredentialList', items: [] },
      { kind: 'CredentialRequest', status: { username: 'web', password: expect.stringMatching(/^\w{32}$/) } },
      { kind: 'Credential', status: { password: { origin: 'Minted', by: 'jane@example.org' } } },
      { kind: 'CredentialRequest', status: { username: 'web' } },
    ])
    // The log of the worker is beside the lines, without the password.
    expect(sandbox.output()).toContain('"operation":"Mint"')
    expect(sandbox.output()).not.toContain(answers[1].status.password)
  })

  test('listens on loopback only', () => {
    expect(sandbox.origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  })

  test('says which port is in use, and ends with 1', async () => {
    const { port } = new URL(sandbox.origin)
    const { code, stderr } = await runWorker(['--sandbox'], { PORT: port })
    expect(code).toBe(1)
    expect(stderr).toBe(
      `mintonce: 127.0.0.1:${port} is in use: choose another port with PORT (0: any that is free)\n`,
    )
  })
})

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('dev:worker ends on %s, and its workerd with it', async (signal, code) => {
  const { origin, stop } = await served()
  await (await fetch(`${origin}/livez`)).text()
  expect(await stop(signal)).toBe(code)
  await expect.poll(() => refusalOf(origin)).toBe('ECONNREFUSED')
})

test('dev:worker hands the settings of its environment on to the worker', async () => {
  const { origin, output } = await served({ MINTONCE_API_GROUP: 'credentials.cozystack.io' })
  const path = '/apis/credentials.cozystack.io/v1alpha1/namespaces/tenant-acme/credentials'
  expect(output()).toContain(`API=${origin}${path}`)
  expect((await fetch(`${origin}${path}`)).status).toBe(401)
})

test.each([
  [['--nonsense'], {}, "Unknown option '--nonsense'"],
  [['--sandbox', '--context', 'kind'], {}, '--sandbox takes no cluster'],
  [['--kubeconfig', '/nowhere/config'], {}, '/nowhere/config'],
  [['--sandbox'], { MINTONCE_LOGLEVEL: 'info' }, 'MINTONCE_LOGLEVEL: there is no such setting'],
  [
    ['--sandbox'],
    { MINTONCE_AUTHENTICATION_CONFIG_FILE: '/etc/authentication.yaml' },
    'this runtime has no files: use MINTONCE_AUTHENTICATION_CONFIG',
  ],
])('dev:worker with %j and %j says what is wrong, and ends with 1', async (args, env, message) => {
  const { code, stdout, stderr } = await runWorker(args, env)
  expect(code).toBe(1)
  expect(stdout).toBe('')
  expect(stderr).toContain(`mintonce: `)
  expect(stderr).toContain(message)
})

test('a worker that is told to believe the front proxy serves nothing, and says why', async () => {
  const { origin, output } = await served({
    MINTONCE_TLS_CERT_FILE: '/tls.crt',
    MINTONCE_TLS_KEY_FILE: '/tls.key',
    MINTONCE_FRONT_PROXY: 'on',
  })
  expect((await fetch(`${origin}/livez`)).status).toBe(500)
  // The log comes by another way than the answer.
  await expect.poll(output).toContain('MINTONCE_FRONT_PROXY: a worker sees no client certificate')
})

test('dev:worker in front of a cluster that is away says so, and is served all the same', async () => {
  const kubeconfig = join(import.meta.dirname, 'nowhere.kubeconfig.json')
  const { origin, output, stop } = await serveWorker(['--kubeconfig', kubeconfig])
  onTestFinished(async () => void (await stop()))
  expect(output()).toContain('context nowhere (https://127.0.0.1:1)')
  await expect.poll(output).toContain('not ready: the Kubernetes API: kube_error')
  expect(output()).toContain('the Kubernetes API did not answer: ECONNREFUSED')
  expect((await fetch(`${origin}/livez`)).status).toBe(200)
})
