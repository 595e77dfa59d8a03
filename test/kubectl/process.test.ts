import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { complaintAboutNode } from '../../src/kubectl/node-version.ts'
import { ended, ROOT } from '../cli/command.ts'
import {
  type Aggregation,
  CREDENTIAL,
  GROUP,
  kubeconfigOf,
  pass,
  startAggregation,
  TENANT,
} from './aggregation.ts'

const PASSWORD = /^[A-Za-z0-9]{32}$/
const PATH = `/apis/${GROUP}/v1alpha1/namespaces/${TENANT}/credentials/${CREDENTIAL}`

let api: Aggregation
beforeAll(async () => {
  api = await startAggregation()
})
afterAll(() => api.stop())
beforeEach(() => void api.seen.splice(0))

type Program = 'kubectl-mint' | 'kubectl-revoke' | 'kubectl-complete-mint' | 'kubectl-complete-revoke'
const entry = (program: Program) => join(ROOT, `src/${program}.ts`)
const environment = (kubeconfig: string) => ({ PATH: process.env.PATH ?? '', KUBECONFIG: kubeconfig })

function start(program: Program, args: readonly string[], kubeconfig: string): ChildProcess {
  return spawn(process.execPath, [entry(program), ...args], { env: environment(kubeconfig) })
}

const ran = async (program: Program, ...args: readonly string[]) =>
  ended(start(program, args, await api.kubeconfig()))

/** A completion that finds a busy machine too slow has no names, as it should be. */
const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 25_000 })

describe('kubectl mint, as kubectl runs it', { timeout: 30_000 }, () => {
  test('prints the password that the function has stored, and says the rest elsewhere', async () => {
    const { code, stdout, stderr } = await ran('kubectl-mint', CREDENTIAL)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^username: web\npassword: [A-Za-z0-9]{32}\nissuedAt: \d{4}-[\d-]+T[\d:]+Z\n$/)
    expect(stderr).toMatch(/^Shown this once\. .*\n$/)
    expect(api.seen.map(({ call }) => call)).toEqual([`POST ${PATH}/mint`])
    expect(api.seen[0]?.body).not.toBe('')
  })

  test('prints just what was asked for into a pipe', async () => {
    const password = await ran('kubectl-mint', '-n', TENANT, '-o', 'password', CREDENTIAL)
    expect(password).toEqual({ code: 0, stdout: expect.stringMatching(/^[A-Za-z0-9]{32}\n$/), stderr: '' })
    const template = 'postgresql://{username}:{password}@orders-rw:5432/orders'
    const uri = await ran('kubectl-mint', CREDENTIAL, '-o=uri', '--template', template)
    expect(new URL(uri.stdout).password).toMatch(PASSWORD)
    const json = await ran('kubectl-mint', CREDENTIAL, '-ojson')
    expect(JSON.parse(json.stdout)).toMatchObject({
      apiVersion: `${GROUP}/v1alpha1`,
      kind: 'CredentialRequest',
      metadata: { name: CREDENTIAL, namespace: TENANT },
      status: { username: 'web', password: expect.stringMatching(PASSWORD) },
    })
  })

  test('passes the warnings of the API on', async () => {
    api.next(async (response, forward) => {
      response.setHeader('Warning', ['299 - "HelmRelease \\"x\\" is suspended"', '299 - "second"'])
      await pass(response, await forward())
    })
    const { stdout, stderr } = await ran('kubectl-mint', CREDENTIAL, '-o', 'password')
    expect(stderr).toBe('Warning: HelmRelease "x" is suspended\nWarning: second\n')
    expect(stdout.trimEnd()).toMatch(PASSWORD)
  })

  test('a dry run changes nothing and shows nothing', async () => {
    const listed = async () => {
      const headers = { authorization: 'Bearer kube-jane' }
      const path = `/apis/${GROUP}/v1alpha1/namespaces/${TENANT}/credentials`
      const answer = await fetch(`${api.url}${path}`, { headers })
      return JSON.stringify(await answer.json())
    }
    const before = await listed()
    const { code, stdout } = await ran('kubectl-mint', 'postgres-orders.report', '--dry-run=server')
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'credential/postgres-orders.report minted (server dry run)\n',
    })
    expect(before).toContain('"kind":"CredentialList"')
    expect(await listed()).toBe(before)
  })

  test('a stale precondition is refused by who was faster', async () => {
    await ran('kubectl-mint', CREDENTIAL)
    const { code, stdout, stderr } = await ran('kubectl-mint', CREDENTIAL, '--resource-version', '1')
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
    expect(stderr).toMatch(/^Error from server \(Conflict\): credential .* changed: .* jane@example\.org/)
  })

  test.each([
    ['kube-victor', 3, 'Error from server (Forbidden): '],
    ['kube-nobody', 3, 'Error from server (Unauthorized): Unauthorized\n'],
  ])('%s may not', async (token, code, said) => {
    const answer = await ended(start('kubectl-mint', [CREDENTIAL], await api.kubeconfig(token)))
    expect(answer).toMatchObject({ code, stdout: '' })
    expect(answer.stderr).toContain(said)
  })

  test('an account that is not there, and an API that is not', async () => {
    expect((await ran('kubectl-mint', 'postgres-orders.nobody')).code).toBe(4)
    const { code, stderr } = await ran('kubectl-mint', CREDENTIAL, '--group', 'nobody.example')
    expect(code, stderr).toBe(4)
  })

  test('an answer that is lost on the way is said to be, and nothing is sent again', async () => {
    api.next(async (response, forward) => {
      await forward()
      response.destroy()
    })
    const { code, stdout, stderr } = await ran('kubectl-mint', CREDENTIAL, '-o', 'password')
    expect({ code, stdout }).toEqual({ code: 6, stdout: '' })
    expect(stderr).toMatch(/^error: no answer: socket hang up\n.* may have been replaced\. Mint again/)
    expect(api.seen).toHaveLength(1)
  })

  test('--request-timeout ends the wait for an answer that does not come', async () => {
    api.next(() => undefined)
    const { code, stderr } = await ran('kubectl-mint', CREDENTIAL, '--request-timeout=200ms')
    expect({ code, stderr }).toMatchObject({ code: 6, stderr: expect.stringContaining('Mint again') })
    expect(api.seen).toHaveLength(1)
  })

  test.each([
    ['SIGHUP', 129],
    ['SIGINT', 130],
    ['SIGQUIT', 131],
    ['SIGTERM', 143],
  ] as const)('%s while the answer is out says what may have happened', async (signal, code) => {
    let child: ChildProcess | undefined
    api.next(() => child?.kill(signal))
    child = start('kubectl-mint', [CREDENTIAL], await api.kubeconfig())
    const { stderr, ...answer } = await ended(child)
    expect(answer).toEqual({ code, stdout: '' })
    expect(stderr).toMatch(
      /^interrupted\. The password of postgres-orders\.web may have been replaced\. Mint again/,
    )
  })

  test('a reader that has gone away means a lost password, which goes nowhere else', async () => {
    let child: ChildProcess | undefined
    api.next(async (response, forward) => {
      child?.stdout?.destroy()
      await pass(response, await forward())
    })
    child = start('kubectl-mint', [CREDENTIAL, '-o', 'password'], await api.kubeconfig())
    let stderr = ''
    child.stderr?.setEncoding('utf8').on('data', (chunk) => {
      stderr += chunk
    })
    const [code] = await once(child, 'close')
    expect({ code, stderr }).toEqual({
      code: 6,
      stderr: expect.stringMatching(/could not be written \(EPIPE\): the password is lost\. .* Mint again/),
    })
    expect(stderr).not.toMatch(/[A-Za-z0-9]{32}/)
  })

  test.each([
    ['closed', '>&-', 'standard output is closed, or /dev/null'],
    ['nowhere', '>/dev/null', 'standard output is closed, or /dev/null'],
    ['read only', `1<'${entry('kubectl-mint')}'`, 'standard output cannot be written (EBADF)'],
  ])('a standard output that is %s is seen before anything is sent', async (_what, redirection, said) => {
    const env = environment(await api.kubeconfig())
    const shell = (more: string) => {
      const command = `exec '${process.execPath}' '${entry('kubectl-mint')}' ${CREDENTIAL} ${more} ${redirection}`
      return ended(spawn('sh', ['-c', command], { env }))
    }
    const { code, stderr } = await shell('-o password')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `error: ${said}: the password would be lost. Nothing was sent\nSee 'kubectl mint --help'.\n`,
    })
    expect(api.seen).toEqual([])
    // It shows none.
    expect((await shell('--dry-run=server')).stderr).not.toContain('would be lost')
    expect(api.seen).toHaveLength(1)
  })

  test('impersonates whom it is told to, each group on a line of its own', async () => {
    await ran('kubectl-mint', CREDENTIAL, '--as=jürgen', '--as-group=a, b', '--as-group=c', '--as-uid=7')
    const { rawHeaders = [] } = api.seen[0] ?? {}
    const lines = rawHeaders.flatMap((name, index) =>
      index % 2 === 0 && /^impersonate-/i.test(name) ? [[name.toLowerCase(), rawHeaders[index + 1]]] : [],
    )
    expect(lines).toEqual([
      // UTF-8, a character a byte as Node shows headers.
      ['impersonate-user', 'j\u00c3\u00bcrgen'],
      ['impersonate-group', 'a, b'],
      ['impersonate-group', 'c'],
      ['impersonate-uid', '7'],
    ])
  })

  test('an exec plug-in may speak with the person, and its failure is told', async () => {
    const path = join(api.folder, 'exec.json')
    const script = 'echo "open https://id.example.org" >&2; exit 4'
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', args: ['-c', script] }
    await writeFile(
      path,
      JSON.stringify(kubeconfigOf(api.url, { exec: { ...exec, interactiveMode: 'Never' } })),
    )
    const { code, stdout, stderr } = await ended(start('kubectl-mint', [CREDENTIAL], path))
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toBe(
      'open https://id.example.org\nerror: no credentials for the Kubernetes API: the exec plug-in sh failed (exit code 4)\n',
    )
    expect(api.seen).toEqual([])
  })

  test('a token that no header can hold is neither sent nor shown, whoever has it', async () => {
    const status = { token: 'c3RvcmVk\nc3RvcmVk' }
    const apiVersion = 'client.authentication.k8s.io/v1'
    const answer = JSON.stringify({ apiVersion, kind: 'ExecCredential', status })
    const exec = { apiVersion, command: 'printf', args: ['%s', answer], interactiveMode: 'Never' }
    const users = [
      [{ exec }, 3, 'the exec plug-in printf answered a token that no header can hold'],
      [status, 2, 'the token of user jane of the kubeconfig is none that a header can hold'],
    ] as const
    for (const [user, code, said] of users) {
      const path = join(api.folder, 'newline.json')
      await writeFile(path, JSON.stringify(kubeconfigOf(api.url, user)))
      const { stderr, ...answered } = await ended(start('kubectl-mint', [CREDENTIAL], path))
      expect(answered).toEqual({ code, stdout: '' })
      expect(stderr).toContain(said)
      expect(stderr).not.toContain('c3RvcmVk')
    }
    expect(api.seen).toEqual([])
  })

  test.each([
    [{ username: 'jane', password: 'x' }, 'http://127.0.0.1:1', 'has a username and password'],
    [
      { 'client-certificate': 'no.crt', 'client-key': 'no.key' },
      'https://127.0.0.1:1',
      '/no.crt of user jane',
    ],
    [{}, '127.0.0.1:6443', 'is no address: https://HOST:PORT'],
  ])('a kubeconfig that is wrong is told in one line: %j', async (user, server, said) => {
    const path = join(api.folder, 'wrong.json')
    await writeFile(path, JSON.stringify(kubeconfigOf(server, user)))
    const { code, stderr } = await ended(start('kubectl-mint', [CREDENTIAL], path))
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: [^\n]+\n$/)
    expect(stderr).toContain(said)
  })

  test('an exec plug-in may lie beside the kubeconfig, wherever that is named from', async () => {
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: './plugin',
      interactiveMode: 'Never',
    }
    const credential = { apiVersion: exec.apiVersion, kind: 'ExecCredential', status: { token: 'kube-jane' } }
    const script = `#!/bin/sh\necho '${JSON.stringify(credential)}'\n`
    await writeFile(join(api.folder, 'plugin'), script, { mode: 0o755 })
    await writeFile(join(api.folder, 'beside.json'), JSON.stringify(kubeconfigOf(api.url, { exec })))
    const args = [entry('kubectl-mint'), CREDENTIAL, '-o', 'password', '--kubeconfig', 'beside.json']
    const answer = await ended(spawn(process.execPath, args, { cwd: api.folder, env: environment('') }))
    expect(answer).toEqual({ code: 0, stdout: expect.stringMatching(/^\w{32}\n$/), stderr: '' })
  })

  test('on a terminal it warns that the password stays there', async () => {
    const command = `'${process.execPath}' '${entry('kubectl-mint')}' ${CREDENTIAL} -o password`
    const env = environment(await api.kubeconfig())
    // util-linux: a terminal of its own, to whose end standard output and standard error go.
    const { code, stdout } = await ended(spawn('script', ['-qec', command, '/dev/null'], { env }))
    expect(code).toBe(0)
    expect(stdout).toMatch(/^warning: .* scroll-back: .*\r\n[A-Za-z0-9]{32}\r\n$/)
  })
})

describe('kubectl revoke', { timeout: 30_000 }, () => {
  test('revokes once, and shows no password', async () => {
    const { code, stdout, stderr } = await ran('kubectl-revoke', CREDENTIAL)
    expect(code, stderr).toBe(0)
    expect(stdout).toMatch(/^credential\/postgres-orders\.web revoked at \d{4}-[\d-]+T[\d:]+Z\n$/)
    expect(api.seen.map(({ call }) => call)).toEqual([`POST ${PATH}/revoke`])
    await eventually(async () => {
      const { stdout: names } = await ran('kubectl-complete-revoke', 'postgres-orders.w')
      expect(names).toBe('postgres-orders.web\tPostgres orders, Revoked\n:4\n')
    })
  })
})

describe('completion', { timeout: 30_000 }, () => {
  test('offers what there is, and is quiet when there is nobody to ask', async () => {
    await ran('kubectl-mint', CREDENTIAL)
    await eventually(async () =>
      expect(await ran('kubectl-complete-mint', '-n', TENANT, 'postgres-orders.w')).toEqual({
        code: 0,
        stdout: 'postgres-orders.web\tPostgres orders, Minted\n:4\n',
        stderr: '',
      }),
    )
    const nobody = await ended(start('kubectl-complete-mint', [''], '/nowhere/config'))
    expect(nobody).toEqual({ code: 0, stdout: ':4\n', stderr: '' })
  })

  test('ends when an exec plug-in does not, and shows nothing of it', async () => {
    const path = join(api.folder, 'slow.json')
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh' }
    const script = `echo "open a page" >&2; trap 'echo ended > "$0"; exit' TERM; for i in $(seq 400); do sleep 0.05; done`
    const args = ['-c', script, `${path}.ended`]
    await writeFile(path, JSON.stringify(kubeconfigOf(api.url, { exec: { ...exec, args } })))
    expect(await ended(start('kubectl-complete-mint', [''], path))).toEqual({
      code: 0,
      stdout: ':4\n',
      stderr: '',
    })
    await vi.waitFor(async () => expect(await readFile(`${path}.ended`, 'utf8')).toBe('ended\n'))
  })
})

describe('the help', { timeout: 30_000 }, () => {
  test.each(['kubectl-mint', 'kubectl-revoke'] as const)('of %s teaches', async (program) => {
    const { code, stdout, stderr } = await ran(program, '--help')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const essential of ['Usage:', 'Examples:', 'Options:', 'Exit codes:', '(the API answers 201)']) {
      expect(stdout).toContain(essential)
    }
    for (const exit of [0, 1, 2, 3, 4, 5, 6, 7]) expect(stdout).toMatch(new RegExp(`^  ${exit}  \\w`, 'm'))
    for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(112)
  })

  test('every example of a mint is one that a shell and this command understand', async () => {
    const { stdout } = await ran('kubectl-mint', '--help')
    const [, examples = ''] = /Examples:\n(.*?)\nWhat it means:/s.exec(stdout) ?? []
    for (const essential of ['umask 077', 'create secret', 'psql', '--template', '--dry-run=server']) {
      expect(examples).toContain(essential)
    }
    const functions = [
      `kubectl() { [ "$1" = mint ] || { cat >/dev/null; return; }; shift; '${process.execPath}' '${entry('kubectl-mint')}' "$@"; }`,
      'psql() { test -n "$PGPASSWORD"; }',
    ]
    // What the cluster would say of the version is not there to be read: the last example is left out.
    const script = examples.replace(/ *# Only if nobody was faster.*/s, '')
    const env = environment(await api.kubeconfig())
    const shell = spawn('bash', ['-e', '-c', [...functions, script].join('\n')], { env, cwd: api.folder })
    shell.stdin.end()
    const { code, stderr } = await ended(shell)
    expect(code, stderr).toBe(0)
    expect(await readFile(join(api.folder, 'orders.env'), 'utf8')).toMatch(
      /^DB_USERNAME='web'\nDB_PASSWORD='\w{32}'\n$/,
    )
  })

  test('the version is that of the package', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    expect((await ran('kubectl-mint', '--version')).stdout).toBe(`kubectl-mint ${version}\n`)
  })
})

describe('an old Node', () => {
  test('is named instead of an error that nobody understands', async () => {
    const { engines } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    expect(engines.node).toBe('>=24')
    expect(complaintAboutNode('kubectl-mint', '22.19.0')).toBe(
      'error: kubectl-mint needs Node.js 24 or newer; "node" on the PATH is 22.19.0\n',
    )
    expect(complaintAboutNode('kubectl-mint', '24.0.0')).toBeUndefined()
    expect(complaintAboutNode('kubectl-mint')).toBeUndefined()
  })

  test.each(['mint', 'revoke', 'complete-mint', 'complete-revoke'])(
    'reads of kubectl-%s no more than that before it is checked',
    async (name) => {
      const source = await readFile(join(ROOT, `src/kubectl-${name}.ts`), 'utf8')
      expect(source.match(/^import .*$/gm)).toEqual([
        "import { complaintAboutNode } from './kubectl/node-version.ts'",
      ])
    },
  )
})
