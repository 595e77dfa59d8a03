import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import type { Impersonation } from '../../src/k8s/node-impersonation.ts'
import { openKubeconfig } from '../../src/k8s/node-kubeconfig.ts'
import { kubeconfig } from './kubeconfig-file.ts'
import { answerJson, createAuthority, serve, temporaryFolder } from './loopback.ts'
import { kubeOver } from './scripted-fetch.ts'

// Heavy to load, and not what any of these measures; certificates are made by a program of their own.
beforeAll(() => import('@kubernetes/client-node'), 60_000)
vi.setConfig({ testTimeout: 20_000 })

const VERSION = new Request('https://kubernetes.default.svc/version')

/** A server that answers with who asked, as it sees it. */
async function secured() {
  const folder = await temporaryFolder()
  const authority = await createAuthority(folder, 'authority')
  const tls = {
    ...(await authority.issue('server')),
    requestCert: true,
    rejectUnauthorized: false,
    ca: authority.ca,
  }
  const server = await serve((request, response, { socket }) => {
    const certificate = Object(socket).getPeerCertificate()
    answerJson(response, { bearer: request.headers.authorization, subject: certificate.subject?.CN })
  }, tls)
  return { ...server, folder, authority, file: join(folder, 'config') }
}

const asked = async ({ fetch }: { readonly fetch: (request: Request) => Promise<Response> }) =>
  (await fetch(VERSION)).json()

describe('a user of a kubeconfig', () => {
  test('with a token sends it, over one connection', async () => {
    const { url, received, authority, file } = await secured()
    const cluster = { server: url, 'certificate-authority': authority.caFile }
    const access = await openKubeconfig({
      path: await kubeconfig(file, { cluster, user: { token: 'token-1' } }),
    })
    expect(access).toMatchObject({ server: url, context: 'one' })
    for (let calls = 0; calls < 3; calls += 1)
      expect(await asked(access)).toEqual({ bearer: 'Bearer token-1' })
    expect(new Set(received.map(({ clientPort }) => clientPort)).size).toBe(1)
  })

  test('with a client certificate shows it', async () => {
    const { url, authority, file } = await secured()
    const { cert, key } = await authority.issue('jane')
    const data = (text: string) => Buffer.from(text).toString('base64')
    const cluster = { server: url, 'certificate-authority-data': data(authority.ca) }
    const user = { 'client-certificate-data': data(cert), 'client-key-data': data(key) }
    expect(await asked(await openKubeconfig({ path: await kubeconfig(file, { cluster, user }) }))).toEqual({
      subject: 'jane',
    })
  })

  // client-go/tools/clientcmd/loader.go; client-go/transport/token_source.go.
  test('with a tokenFile sends what it holds now, found from the folder of the kubeconfig', async () => {
    const { url, authority, folder, file } = await secured()
    const cluster = { server: url, 'certificate-authority': authority.caFile }
    const user = { token: 'beside', tokenFile: 'tokens/jane' }
    await mkdir(join(folder, 'tokens'))
    await writeFile(join(folder, 'tokens/jane'), 'token-0\n')
    const access = await openKubeconfig({ path: await kubeconfig(file, { cluster, user }) })
    for (const token of ['token-1', 'token-2']) {
      await writeFile(join(folder, 'tokens/jane'), `${token}\n`)
      expect(await asked(access)).toEqual({ bearer: `Bearer ${token}` })
    }
  })

  test.each([
    ['missing', undefined, 'cannot be read (ENOENT)'],
    ['empty', ' \n', 'is empty'],
    ['of two lines', 'c3RvcmVk\nc3RvcmVk\n', 'is none that a header can hold'],
  ])(
    'with a tokenFile that has come to be %s sends nothing, and is told why',
    async (_what, content, why) => {
      const { url, received, folder, file } = await secured()
      const user = { token: 'beside', tokenFile: 'token' }
      const path = await kubeconfig(file, { cluster: { server: url }, user })
      await writeFile(join(folder, 'token'), 'token-1\n')
      const access = await openKubeconfig({ path })
      if (content === undefined) await rm(join(folder, 'token'))
      else await writeFile(join(folder, 'token'), content)
      const message = `the tokenFile ${join(folder, 'token')} of the kubeconfig ${why}`
      await expect(access.fetch(VERSION)).rejects.toMatchObject({
        code: 'NO_CREDENTIALS',
        message: `no credentials for the Kubernetes API: ${message}`,
      })
      await expect(openKubeconfig({ path })).rejects.toMatchObject({ message })
      expect(received).toEqual([])
    },
  )

  // k8s.io/client-go/plugin/pkg/client/auth/exec/exec.go, UpdateTransportConfig.
  test('with a token asks no exec plug-in', async () => {
    const { url, authority, file } = await secured()
    const cluster = { server: url, 'certificate-authority': authority.caFile }
    const user = { token: 'token-1', exec: { command: '/nowhere' } }
    expect(await asked(await openKubeconfig({ path: await kubeconfig(file, { cluster, user }) }))).toEqual({
      bearer: 'Bearer token-1',
    })
  })
})

describe('whom to impersonate', () => {
  const linesOf = async (user: object, impersonate?: Impersonation) => {
    const lines: string[] = []
    const { url } = await serve((_, response, { rawHeaders }) => {
      for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`)
      answerJson(response, {})
    })
    const file = join(await temporaryFolder(), 'config')
    const path = await kubeconfig(file, { cluster: { server: url }, user })
    await (await openKubeconfig({ path, impersonate })).fetch(VERSION)
    return lines.filter((line) => /^impersonate-/i.test(line)).map((line) => line.toLowerCase())
  }

  // A group is a line of its own: k8s.io/apiserver/pkg/endpoints/filters/impersonation.
  test('is said line by line, in UTF-8', async () => {
    expect(await linesOf({}, { user: 'J\u00fcrgen', groups: ['a, b', 'c'], uid: '7' })).toEqual([
      'impersonate-user: j\u00e3\u00bcrgen',
      'impersonate-group: a, b',
      'impersonate-group: c',
      'impersonate-uid: 7',
    ])
  })

  test('is whom the kubeconfig says, unless somebody else is asked for', async () => {
    expect(await linesOf({ token: 't', as: 'jane' })).toEqual(['impersonate-user: jane'])
    expect(await linesOf({ token: 't', as: 'jane' }, { user: 'joe' })).toEqual(['impersonate-user: joe'])
    expect(await linesOf({ token: 't' })).toEqual([])
  })

  const JANE = {
    as: 'J\u00fcrgen',
    'as-uid': '7',
    'as-groups': ['a, b', 'c'],
    'as-user-extra': { 'acme.example/team': ['x', 'y'], 'A%b': ['z'] },
  }

  // k8s.io/client-go/transport/round_trippers.go; .../apiserver/pkg/endpoints/filters/impersonation reads it in lower case.
  test('is all that the kubeconfig says', async () => {
    expect(await linesOf(JANE)).toEqual([
      'impersonate-user: j\u00e3\u00bcrgen',
      'impersonate-group: a, b',
      'impersonate-group: c',
      'impersonate-uid: 7',
      'impersonate-extra-acme.example%2fteam: x',
      'impersonate-extra-acme.example%2fteam: y',
      'impersonate-extra-a%25b: z',
    ])
  })

  // k8s.io/client-go/tools/clientcmd/merge.go: what is not empty counts.
  test('is, part by part, what was asked for besides', async () => {
    const { 'as-user-extra': _, ...jane } = JANE
    expect(await linesOf(jane, { user: 'joe', groups: [] })).toEqual([
      'impersonate-user: joe',
      'impersonate-group: a, b',
      'impersonate-group: c',
      'impersonate-uid: 7',
    ])
    expect(await linesOf({ 'as-groups': ['a'] }, { user: 'joe', groups: ['d'], uid: '8' })).toEqual([
      'impersonate-user: joe',
      'impersonate-group: d',
      'impersonate-uid: 8',
    ])
  })

  test.each([
    [{ 'as-groups': ['a'] }, 'without as'],
    [{ 'as-uid': '7' }, 'without as'],
    [{ 'as-user-extra': { a: ['b'] } }, 'without as'],
    [{ as: 7 }, 'as of the user'],
    [{ as: 'jane\n' }, 'as of the user'],
    [{ as: ' ' }, 'as of the user'],
    [{ as: 'jane', 'as-groups': 'a' }, 'as-groups of the user'],
    [{ as: 'jane', 'as-groups': ['a', 7] }, 'as-groups of the user'],
    [{ as: 'jane', 'as-user-extra': { team: 'a' } }, 'as-user-extra'],
  ])('is nobody else because a part was not understood: %j', async (user, said) => {
    const path = join(await temporaryFolder(), 'config')
    await kubeconfig(path, { cluster: { server: 'https://127.0.0.1:1' }, user })
    await expect(openKubeconfig({ path })).rejects.toThrow(said)
  })
})

describe('an exec plug-in', () => {
  /** Counts its runs, and lets each credential expire at once. */
  async function withPlugin(script: string) {
    const server = await secured()
    const command = join(server.folder, 'plugin')
    await writeFile(command, `#!/bin/sh\n${script}\n`)
    await chmod(command, 0o755)
    const cluster = { server: server.url, 'certificate-authority': server.authority.caFile }
    const user = {
      exec: { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' },
    }
    return {
      ...server,
      access: await openKubeconfig({ path: await kubeconfig(server.file, { cluster, user }) }),
    }
  }
  const credential = (status: string) =>
    `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":${status}}`

  test('is asked again when its token has expired', async () => {
    const { access } = await withPlugin(`
      echo run >> "$0.runs"
      printf '${credential('{"expirationTimestamp":"2020-01-01T00:00:00Z","token":"token-%s"}')}' $(wc -l < "$0.runs")`)
    expect(await asked(access)).toEqual({ bearer: 'Bearer token-1' })
    expect(await asked(access)).toEqual({ bearer: 'Bearer token-2' })
  })

  test('that hands out another certificate gets another connection', async () => {
    const { access, authority, folder, received } = await withPlugin('cat "$0.answer"')
    const answer = async (name: string) => {
      const { cert, key } = await authority.issue(name)
      const status = {
        expirationTimestamp: '2020-01-01T00:00:00Z',
        clientCertificateData: cert,
        clientKeyData: key,
      }
      await writeFile(join(folder, 'plugin.answer'), credential(JSON.stringify(status)))
    }
    await answer('jane')
    expect(await asked(access)).toEqual({ subject: 'jane' })
    await answer('joe')
    expect(await asked(access)).toEqual({ subject: 'joe' })
    expect(new Set(received.map(({ clientPort }) => clientPort)).size).toBe(2)
  })

  // k8s.io/client-go/tools/clientcmd/loader.go, GetAuthInfoFileReferences.
  test('that is a path is found from the folder of the kubeconfig, by a name alone on the PATH', async () => {
    const { url, authority, folder, file } = await secured()
    const cluster = { server: url, 'certificate-authority': authority.caFile }
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never' }
    const opened = async (command: string, args: readonly string[]) =>
      openKubeconfig({
        path: await kubeconfig(file, { cluster, user: { exec: { ...exec, command, args } } }),
      })
    await mkdir(join(folder, 'bin'))
    const answer = credential('{"token":"token-1"}')
    await writeFile(join(folder, 'bin/plugin'), `#!/bin/sh\nprintf '%s' '${answer}'\n`, { mode: 0o755 })
    expect(await asked(await opened('./bin/plugin', []))).toEqual({ bearer: 'Bearer token-1' })
    expect(await asked(await opened('printf', ['%s', answer]))).toEqual({ bearer: 'Bearer token-1' })
  })

  test('that fails keeps the request from being sent, and its words to itself', async () => {
    const { access, received } = await withPlugin('echo "refused c3RvcmVk" >&2; exit 1')
    expect(await kubeOver(access.fetch).ping()).toEqual({
      ok: false,
      failure: { reason: 'kube_unreachable', call: 'get version', why: 'NO_CREDENTIALS', sent: false },
    })
    expect(received).toEqual([])
  })
})

describe('a cluster of a kubeconfig', () => {
  test('that is not trusted is not talked to, unless it says to skip that', async () => {
    const { url, file } = await secured()
    const strict = await openKubeconfig({ path: await kubeconfig(file, { cluster: { server: url } }) })
    await expect(strict.fetch(VERSION)).rejects.toMatchObject({ code: 'SELF_SIGNED_CERT_IN_CHAIN' })
    const cluster = { server: url, 'insecure-skip-tls-verify': true }
    const lax = await openKubeconfig({ path: await kubeconfig(file, { cluster }) })
    expect((await lax.fetch(VERSION)).status).toBe(200)
  })

  test('is checked against its tls-server-name', async () => {
    const { url, authority, file } = await secured()
    const named = async (name: string) => {
      const cluster = { server: url, 'certificate-authority': authority.caFile, 'tls-server-name': name }
      return openKubeconfig({ path: await kubeconfig(file, { cluster }) })
    }
    expect((await (await named('localhost')).fetch(VERSION)).status).toBe(200)
    await expect((await named('other.example')).fetch(VERSION)).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    })
  })

  test('may be plain HTTP below a path, as `kubectl proxy` and gateways serve it', async () => {
    const { url, received } = await serve((_, response) => answerJson(response, {}))
    const file = join(await temporaryFolder(), 'config')
    const access = await openKubeconfig({
      path: await kubeconfig(file, { cluster: { server: `${url}/k8s/c-1` } }),
    })
    expect((await access.fetch(VERSION)).status).toBe(200)
    expect(received[0]?.url).toBe('/k8s/c-1/version')
  })

  test('that does not answer is given up when the caller says so, whoever else has forgotten the request', async () => {
    const arrived = Promise.withResolvers<void>()
    const { url } = await serve(() => arrived.resolve())
    const file = join(await temporaryFolder(), 'config')
    const access = await openKubeconfig({ path: await kubeconfig(file, { cluster: { server: url } }) })
    const gone = new AbortController()
    const call = access.fetch(new Request(VERSION, { signal: gone.signal }))
    await arrived.promise
    setFlagsFromString('--expose-gc')
    runInNewContext('gc')()
    gone.abort()
    await expect(call).rejects.toMatchObject({ code: 'ABORT_ERR' })
  })

  test('behind a proxy-url is refused rather than reached around it', async () => {
    const file = join(await temporaryFolder(), 'config')
    const cluster = { server: 'https://127.0.0.1:1', 'proxy-url': 'http://127.0.0.1:2' }
    await expect(openKubeconfig({ path: await kubeconfig(file, { cluster }) })).rejects.toThrow(
      /one-cluster.*proxy-url/,
    )
  })
})

describe('which cluster', () => {
  const at = (port: number) => ({ cluster: { server: `https://127.0.0.1:${port}` } })

  test('is the named context, and a missing one is an error', async () => {
    const path = await kubeconfig(join(await temporaryFolder(), 'config'), at(1))
    expect(await openKubeconfig({ path, context: 'one' })).toMatchObject({ context: 'one' })
    await expect(openKubeconfig({ path, context: 'two' })).rejects.toThrow('no context two')
  })

  test('is, of the files in KUBECONFIG, the first one’s, and any context of all of them by name', async () => {
    const folder = await temporaryFolder()
    const first = await kubeconfig(join(folder, 'first'), { ...at(1), context: 'one' })
    const second = await kubeconfig(join(folder, 'second'), { ...at(2), context: 'two' })
    const env = { KUBECONFIG: `${first}:${second}` }
    expect(await openKubeconfig({ env })).toMatchObject({ context: 'one', server: 'https://127.0.0.1:1' })
    expect(await openKubeconfig({ env, context: 'two' })).toMatchObject({ server: 'https://127.0.0.1:2' })
  })

  // k8s.io/client-go/tools/clientcmd/loader.go, ClientConfigLoadingRules.
  test('is, of two with one name in KUBECONFIG, the first; a file that is not there is passed over', async () => {
    const folder = await temporaryFolder()
    const first = await kubeconfig(join(folder, 'first'), { ...at(1), context: 'one' })
    const again = await kubeconfig(join(folder, 'again'), { ...at(3), context: 'one' })
    const env = { KUBECONFIG: `${join(folder, 'nowhere')}:${first}:${again}` }
    expect(await openKubeconfig({ env })).toMatchObject({ context: 'one', server: 'https://127.0.0.1:1' })
    await expect(openKubeconfig({ env: { KUBECONFIG: join(folder, 'nowhere') } })).rejects.toThrow(
      /there is no kubeconfig: KUBECONFIG names .*nowhere/,
    )
  })

  test('is another of the file when it is named, with another user; one that is missing is an error', async () => {
    const folder = await temporaryFolder()
    const first = await kubeconfig(join(folder, 'first'), { ...at(1), context: 'one' })
    const { url, received } = await serve((_, response) => answerJson(response, {}))
    const second = { cluster: { server: url }, user: { token: 'token-2' }, context: 'two' }
    const env = { KUBECONFIG: `${first}:${await kubeconfig(join(folder, 'second'), second)}` }
    const access = await openKubeconfig({ env, cluster: 'two-cluster', user: 'two-user' })
    expect(access).toMatchObject({ context: 'one', server: url })
    await access.fetch(VERSION)
    expect(received[0]?.headers.authorization).toBe('Bearer token-2')
    await expect(openKubeconfig({ env, cluster: 'three' })).rejects.toThrow('no cluster three')
    await expect(openKubeconfig({ env, user: 'three' })).rejects.toThrow('no user three')
  })

  test('and which namespace: the context’s, or default', async () => {
    const file = join(await temporaryFolder(), 'config')
    const path = await kubeconfig(file, at(1))
    expect(await openKubeconfig({ path })).toMatchObject({ namespace: 'default' })
    const content = JSON.parse(await readFile(path, 'utf8'))
    content.contexts[0].context.namespace = 'tenant-acme'
    await writeFile(path, JSON.stringify(content))
    expect(await openKubeconfig({ path, user: 'one-user' })).toMatchObject({ namespace: 'tenant-acme' })
  })

  test.each([
    ['users:\n- name: jane\n  user: {token: c3RvcmVk\n', 4],
    ['users:\n  token: c3RvcmVk\n  token: c3RvcmVk\n', 3],
    ['a: b\nusers: [*c3RvcmVk]\n', undefined],
  ])('is not known from a file that is no YAML, of which nothing is repeated: %j', async (text, line) => {
    const path = join(await temporaryFolder(), 'config')
    await writeFile(path, text)
    const message = `the kubeconfig is no YAML${line === undefined ? '' : `: line ${line}`}`
    await expect(openKubeconfig({ path })).rejects.toThrow(new Error(message))
  })

  test('is not guessed when the kubeconfig has no current context, or nothing at all', async () => {
    const path = await kubeconfig(join(await temporaryFolder(), 'config'), at(1))
    const content = JSON.parse(await readFile(path, 'utf8'))
    await writeFile(path, JSON.stringify({ ...content, 'current-context': '' }))
    await expect(openKubeconfig({ path })).rejects.toThrow('no current context')
    await writeFile(path, '')
    await expect(openKubeconfig({ path })).rejects.toThrow('no current context')
  })

  test('is nobody’s when there is no kubeconfig: no address is made up', async () => {
    const env = { KUBECONFIG: '', HOME: await temporaryFolder() }
    await expect(openKubeconfig({ env })).rejects.toThrow('there is no kubeconfig')
  })
})
