import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openKubeconfig } from '../../src/k8s/node-kubeconfig.ts'
import { kubeconfig } from './kubeconfig-file.ts'
import { answerJson, createAuthority, serve, temporaryFolder } from './loopback.ts'

// Heavy to load, and not what any of these measures; certificates are made by a program of their own.
beforeAll(() => import('@kubernetes/client-node'), 60_000)
vi.setConfig({ testTimeout: 20_000 })

const VERSION = new Request('https://kubernetes.default.svc/version')
const SECRET = 'c3RvcmVk'
const SERVER = { server: 'https://127.0.0.1:1' }

/** What is said when this is opened. */
async function said(user: object, cluster: object = SERVER): Promise<string> {
  const path = await kubeconfig(join(await temporaryFolder(), 'config'), { cluster, user })
  const error = await openKubeconfig({ path }).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(Error)
  const { message } = error as Error
  expect(message).not.toContain(SECRET)
  return message
}

const data = (text: string) => Buffer.from(text).toString('base64')

describe('a user that is wrong is told when it is opened, and without a credential', () => {
  test.each([
    [
      'a token of two lines',
      { token: `${SECRET}\n${SECRET}` },
      'the token of user one-user of the kubeconfig is none',
    ],
    ['a token with a space', { token: `a ${SECRET}` }, 'is none that a header can hold'],
    ['a token that is a number', { token: 7 }, 'token of user one-user of the kubeconfig is no text'],
    [
      'an auth-provider',
      { 'auth-provider': { name: 'oidc', config: { 'id-token': SECRET } } },
      'auth-provider "oidc"',
    ],
    [
      'a name and a password',
      { username: 'jane', password: SECRET },
      'username and password, which are not supported',
    ],
    ['a password alone', { password: SECRET }, 'username and password, which are not supported'],
    [
      'a certificate that is not there',
      { 'client-certificate': '/nowhere/jane.crt', 'client-key-data': data(SECRET) },
      'the client-certificate /nowhere/jane.crt of user one-user of the kubeconfig cannot be read (ENOENT)',
    ],
    [
      'a key that is not there',
      { 'client-certificate-data': data(SECRET), 'client-key': '/nowhere/jane.key' },
      'the client-key /nowhere/jane.key of user one-user of the kubeconfig cannot be read (ENOENT)',
    ],
    [
      'a certificate without its key',
      { 'client-certificate-data': data(SECRET) },
      'has a client certificate without its key',
    ],
    [
      'a key without its certificate',
      { 'client-key-data': data(SECRET) },
      'has a client key without its certificate',
    ],
    [
      'a pair that is none',
      { 'client-certificate-data': data(SECRET), 'client-key-data': data(SECRET) },
      'client-certificate-data and client-key-data of user one-user of the kubeconfig are no pair in PEM',
    ],
  ])('%s', async (_what, user, words) => {
    expect(await said(user)).toContain(words)
  })

  test('the key of somebody else', async () => {
    const authority = await createAuthority(await temporaryFolder(), 'authority')
    const [jane, joe] = [await authority.issue('jane'), await authority.issue('joe')]
    expect(await said({ 'client-certificate': jane.certFile, 'client-key': joe.keyFile })).toContain(
      `client-certificate ${jane.certFile} and client-key ${joe.keyFile} of user one-user`,
    )
  })
})

describe('a cluster that is wrong is told when it is opened', () => {
  test.each([
    ['no scheme, and nothing of TLS', { server: '127.0.0.1:6443' }, 'is no address: https://HOST:PORT'],
    ['a name and a port', { server: 'localhost:6443' }, 'is no address: https://HOST:PORT'],
    ['no address', { server: 'https://:6443' }, 'is no address: https://HOST:PORT'],
    ['another scheme', { server: 'ftp://127.0.0.1' }, 'is no address: https://HOST:PORT'],
    ['a password in it', { server: `https://jane:${SECRET}@127.0.0.1:1` }, 'has a user in its address'],
    ['a query', { server: `https://127.0.0.1:1/?token=${SECRET}` }, 'has more than a path'],
    ['a number', { server: 6443 }, 'the kubeconfig is not as it must be'],
    [
      'an authority that is not there',
      { ...SERVER, 'certificate-authority': '/nowhere/ca.crt' },
      'the certificate-authority /nowhere/ca.crt of cluster one-cluster of the kubeconfig cannot be read (ENOENT)',
    ],
    [
      'an authority that is none',
      {
        ...SERVER,
        'certificate-authority-data': data('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'),
      },
      'certificate-authority-data of cluster one-cluster of the kubeconfig holds no certificate in PEM',
    ],
  ])('%s', async (_what, cluster, words) => {
    expect(await said({ token: SECRET }, cluster)).toContain(words)
  })

  // k8s.io/client-go/rest/url_utils.go, DefaultServerUrlFor: whatever is of TLS means HTTPS.
  test('an address without a scheme is HTTPS where there is something of TLS', async () => {
    const file = join(await temporaryFolder(), 'config')
    const cluster = { server: '127.0.0.1:6443', 'insecure-skip-tls-verify': true }
    expect(await openKubeconfig({ path: await kubeconfig(file, { cluster }) })).toMatchObject({
      server: 'https://127.0.0.1:6443',
    })
  })

  test('a file that is not there', async () => {
    await expect(openKubeconfig({ path: '/nowhere/config' })).rejects.toThrow(
      new Error('the kubeconfig /nowhere/config cannot be read (ENOENT)'),
    )
  })
})

describe('a server that speaks no TLS', () => {
  test('was not sent anything', async () => {
    const texts: string[] = []
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.on('data', (bytes) => {
        texts.push(bytes.toString('latin1'))
        socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = Object(server.address())
    const path = await kubeconfig(join(await temporaryFolder(), 'config'), {
      cluster: { server: `https://127.0.0.1:${port}` },
      user: { token: SECRET },
    })
    const { fetch } = await openKubeconfig({ path })
    await expect(fetch(VERSION)).rejects.toMatchObject({ code: 'EPROTO', neverSent: true })
    expect(texts.join('')).not.toContain(SECRET)
  })
})

describe('without a kubeconfig, in a pod', () => {
  /** What the kubelet mounts, and what it sets. */
  async function pod(more: Readonly<Record<string, string>> = {}) {
    const folder = await temporaryFolder()
    const authority = await createAuthority(folder, 'authority')
    const server = await serve(
      ({ headers }, response) => answerJson(response, { bearer: headers.authorization }),
      await authority.issue('server'),
    )
    await writeFile(join(folder, 'ca.crt'), authority.ca)
    await writeFile(join(folder, 'token'), 'token-1')
    await writeFile(join(folder, 'namespace'), 'tenant-acme')
    const env = {
      HOME: folder,
      KUBERNETES_SERVICE_HOST: '127.0.0.1',
      KUBERNETES_SERVICE_PORT: String(server.port),
      ...more,
    }
    return { ...server, folder, env, options: { env, serviceAccountFolder: folder } }
  }

  // k8s.io/client-go/rest/config.go, InClusterConfig: the kubelet rotates the token.
  test('it is the account of the pod, with the token as it is now, in its namespace', async () => {
    const { url, folder, options } = await pod()
    const access = await openKubeconfig(options)
    expect(access).toMatchObject({ server: url, namespace: 'tenant-acme' })
    expect(await (await access.fetch(VERSION)).json()).toEqual({ bearer: 'Bearer token-1' })
    await writeFile(join(folder, 'token'), 'token-2')
    expect(await (await access.fetch(VERSION)).json()).toEqual({ bearer: 'Bearer token-2' })
  })

  test('POD_NAMESPACE counts before the file', async () => {
    const { options } = await pod({ POD_NAMESPACE: 'tenant-b' })
    expect(await openKubeconfig(options)).toMatchObject({ namespace: 'tenant-b' })
  })

  test('an IPv6 address gets its brackets', async () => {
    const { options } = await pod({ KUBERNETES_SERVICE_HOST: 'fd00:1::1', KUBERNETES_SERVICE_PORT: '443' })
    expect(await openKubeconfig(options)).toMatchObject({ server: 'https://[fd00:1::1]:443' })
  })

  // k8s.io/client-go/tools/clientcmd/merged_client_builder.go.
  test.each(['an empty file', 'a file that is not there'])(
    'it is that also when KUBECONFIG names %s',
    async (what) => {
      const { url, folder, env, options } = await pod()
      const file = join(folder, 'config')
      if (what === 'an empty file') await writeFile(file, '')
      expect(await openKubeconfig({ ...options, env: { ...env, KUBECONFIG: file } })).toMatchObject({
        server: url,
      })
    },
  )

  test('a kubeconfig counts before it', async () => {
    const { folder, env, options } = await pod()
    const KUBECONFIG = await kubeconfig(join(folder, 'config'), { cluster: SERVER })
    expect(await openKubeconfig({ ...options, env: { ...env, KUBECONFIG } })).toMatchObject({
      server: SERVER.server,
      namespace: 'default',
    })
  })

  test.each([{ KUBERNETES_SERVICE_HOST: '' }, { KUBERNETES_SERVICE_PORT: '' }])(
    'with %j it is no pod: no address is made up',
    async (more) => {
      await expect(openKubeconfig((await pod(more)).options)).rejects.toThrow('there is no kubeconfig')
    },
  )

  test('without an account it is nobody', async () => {
    const { options } = await pod()
    const serviceAccountFolder = await temporaryFolder()
    await expect(openKubeconfig({ ...options, serviceAccountFolder })).rejects.toThrow(
      'there is no kubeconfig',
    )
  })

  test('another context than its own is not there', async () => {
    const { options } = await pod()
    await expect(openKubeconfig({ ...options, context: 'acme' })).rejects.toThrow('no context acme')
  })
})
