import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { reachForExec } from '../../src/cli/exec-way.ts'
import { createExec } from '../../src/k8s/node-exec.ts'
import { startExecEndpoint } from '../helpers/exec-endpoint.ts'
import { kubeconfig } from '../k8s/kubeconfig-file.ts'
import { createAuthority, temporaryFolder } from '../k8s/loopback.ts'

vi.setConfig({ testTimeout: 60_000 })

const TARGET = { namespace: 'tenant-acme', pod: 'db-0', container: 'mariadb', command: ['true'] }
const DONE = { ok: true, value: { stdout: '', stderr: '', exitCode: 0 } }

describe('a command in a pod reaches the API server', () => {
  async function place() {
    const folder = await temporaryFolder()
    const { ca, issue } = await createAuthority(folder, 'api')
    const { cert, key } = await issue('server')
    const endpoint = await startExecEndpoint({ react: () => ({ run: ['true'] }), tls: { cert, key } })
    onTestFinished(() => endpoint.stop())
    const file = async (name: string, content: string): Promise<string> => {
      const path = join(folder, name)
      await writeFile(path, content)
      return path
    }
    return { ...endpoint, ca, file, folder }
  }

  const run = async (...args: Parameters<typeof reachForExec>) =>
    createExec(await reachForExec(...args), { timeoutMs: 20_000, maxBytes: 1000 })(TARGET, '')

  test('as the pod that it runs in, with the token that is in the file at that moment', async () => {
    const { url: kubeUrl, requests, ca, file } = await place()
    const kubeCaFile = await file('ca.crt', ca)
    const kubeTokenFile = await file('token', 'first\n')
    const config = { kubeUrl, kubeCaFile, kubeTokenFile }
    const exec = createExec(await reachForExec(config, undefined), { timeoutMs: 20_000, maxBytes: 1000 })
    expect(await exec(TARGET, '')).toEqual(DONE)
    await file('token', 'second')
    expect(await exec(TARGET, '')).toEqual(DONE)
    expect(requests.map(({ authorization }) => authorization)).toEqual(['Bearer first', 'Bearer second'])
  })

  test('and is sent nothing when the file holds no token', async () => {
    const { url: kubeUrl, requests, ca, file } = await place()
    const config = {
      kubeUrl,
      kubeCaFile: await file('ca.crt', ca),
      kubeTokenFile: await file('token', 'two\nlines of hunter2'),
    }
    const answer = await run(config, undefined)
    expect(answer).toEqual({
      ok: false,
      failure: { reason: 'kube_unreachable', call: 'create pods/exec', why: 'NO_CREDENTIALS', sent: false },
    })
    expect(requests).toEqual([])
  })

  test('as whom a kubeconfig says', async () => {
    const { url: server, requests, ca, folder } = await place()
    const path = await kubeconfig(join(folder, 'kubeconfig'), {
      cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') },
      user: { token: 'of-the-kubeconfig' },
    })
    const elsewhere = { kubeUrl: 'https://127.0.0.1:1', kubeCaFile: '/nowhere', kubeTokenFile: '/nowhere' }
    expect(await run(elsewhere, { path, context: undefined })).toEqual(DONE)
    expect(requests).toMatchObject([{ authorization: 'Bearer of-the-kubeconfig' }])
  })
})
