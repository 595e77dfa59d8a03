import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createExecCredential } from '../../src/k8s/node-exec-credential.ts'
import { createAuthority, temporaryFolder } from './loopback.ts'

// The contract: k8s.io/client-go/pkg/apis/clientauthentication/v1/types.go and plugin/pkg/client/auth/exec/exec.go.
const V1 = 'client.authentication.k8s.io/v1'
const CLUSTER = { name: 'acme', server: 'https://127.0.0.1:6443', skipTLSVerify: false, caData: 'Q0E=' }
const SILENT = { stdin: false, stderr: false }

const answering = (answer: unknown) => ({
  apiVersion: V1,
  command: 'sh',
  args: ['-c', `printf %s "$ANSWER"`],
  env: [{ name: 'ANSWER', value: JSON.stringify(answer) }],
})

const credential = (status: object, apiVersion = V1) => ({ apiVersion, kind: 'ExecCredential', status })

const answered = (exec: object, cluster: object = CLUSTER) =>
  createExecCredential(exec, cluster as typeof CLUSTER, SILENT)()

const pairOf = async (name: string) =>
  (await createAuthority(await temporaryFolder(), 'authority')).issue(name)

/** The KUBERNETES_EXEC_INFO that a plug-in finds, which hands it out as its token. */
async function infoFor(exec: object, cluster: object = CLUSTER): Promise<unknown> {
  const script = `printf '{"apiVersion":"${V1}","kind":"ExecCredential","status":{"token":"%s"}}' "$(printf %s "$KUBERNETES_EXEC_INFO" | od -An -tx1 | tr -d ' \\n')"`
  const { token: hex = '' } = await answered(
    { apiVersion: V1, command: 'sh', args: ['-c', script], ...exec },
    cluster,
  )
  return JSON.parse(Buffer.from(hex, 'hex').toString())
}

describe('what a plug-in is told', () => {
  test('that it cannot ask anybody, and nothing of the cluster unless it wants that', async () => {
    expect(await infoFor({})).toEqual({
      apiVersion: V1,
      kind: 'ExecCredential',
      spec: { interactive: false },
    })
  })

  test('the cluster, when it wants that', async () => {
    const cluster = { ...CLUSTER, tlsServerName: 'kube.example', skipTLSVerify: true }
    expect(await infoFor({ provideClusterInfo: true }, cluster)).toMatchObject({
      spec: {
        cluster: {
          server: 'https://127.0.0.1:6443',
          'tls-server-name': 'kube.example',
          'insecure-skip-tls-verify': true,
          'certificate-authority-data': 'Q0E=',
        },
      },
    })
  })
})

describe('what it answers', () => {
  test('a token', async () => {
    expect(await answered(answering(credential({ token: 'token-1' })))).toEqual({ token: 'token-1' })
  })

  test('a certificate comes with its key', async () => {
    const { cert, key } = await pairOf('jane')
    const status = { clientCertificateData: cert, clientKeyData: key }
    expect(await answered(answering(credential(status)))).toEqual({ cert, key })
  })

  test('is kept until it expires', async () => {
    const script = `echo run >> "$0.runs"; printf '{"apiVersion":"${V1}","kind":"ExecCredential","status":{"token":"t-%s"%s}}' $(wc -l < "$0.runs") "$EXPIRY"`
    const folder = await temporaryFolder()
    const asked = async (expiry: string, name: string) => {
      const env = [{ name: 'EXPIRY', value: expiry }]
      const exec = { apiVersion: V1, command: 'sh', args: ['-c', script, join(folder, name)], env }
      const ask = createExecCredential(exec, CLUSTER, SILENT)
      const tokens: unknown[] = []
      for (let calls = 0; calls < 2; calls += 1) {
        tokens.push((await ask()).token)
      }
      return tokens
    }
    expect(await asked('', 'never')).toEqual(['t-1', 't-1'])
    expect(await asked(',"expirationTimestamp":"2020-01-01T00:00:00Z"', 'past')).toEqual(['t-1', 't-2'])
  })

  test.each([
    ['no JSON', 'secret-token'],
    ['another kind', { ...credential({ token: 'secret-token' }), kind: 'Secret' }],
    ['another version', credential({ token: 'secret-token' }, 'client.authentication.k8s.io/v1beta1')],
    ['no status', { apiVersion: V1, kind: 'ExecCredential' }],
    ['an empty status', credential({})],
    ['a key without its certificate', credential({ clientKeyData: 'secret-token' })],
    ['a token that is none', credential({ token: 7 })],
    // `Headers` and `node:http` quote what they cannot send.
    ['a token with a newline in it', credential({ token: 'secret-\ntoken', note: 'secret-token' })],
    ['a token with a newline after it', credential({ token: 'secret-token\n' })],
    ['a token with a space', credential({ token: 'secret-token x' })],
    ['a token beyond ASCII', credential({ token: 'secret-token\u00fc' })],
    [
      'a certificate that is none',
      credential({ clientCertificateData: 'secret-token', clientKeyData: 'secret-token' }),
    ],
  ])('%s is no credential, and is not repeated in the error', async (_what, answer) => {
    const error = await answered(answering(answer)).catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'EXEC_PLUGIN',
      message: expect.stringMatching(/^the exec plug-in sh /),
    })
    expect(String(error)).not.toContain('secret-token')
  })

  test('a certificate with the key of another is no credential', async () => {
    const [{ cert }, { key }] = await Promise.all([pairOf('jane'), pairOf('joe')])
    const status = { clientCertificateData: cert, clientKeyData: key }
    await expect(answered(answering(credential(status)))).rejects.toThrow(
      'the exec plug-in sh answered no certificate and key in PEM that belong together',
    )
  })

  test.each([
    ['a command that fails', { command: 'sh', args: ['-c', 'exit 3'] }, 'sh failed (exit code 3)'],
    [
      'a command that is not there',
      { command: '/nowhere', installHint: 'get it from us' },
      '/nowhere could not be run\nget it from us',
    ],
    ['no command', {}, 'has no command'],
    ['a person that is not there', { command: 'sh', interactiveMode: 'Always' }, 'wants to ask'],
  ])('%s is told', async (_what, exec, message) => {
    await expect(answered({ apiVersion: V1, ...exec })).rejects.toThrow(message)
  })
})
