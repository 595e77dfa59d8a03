import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type ControlPlane, startControlPlane } from '../control-plane/start.ts'
import { eventually } from './eventually.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const PAGES = ['install-apiservice.md', 'install-knative.md']
const STORED = Buffer.from('what a plaintext format stores').toString('base64')
const MARK = 'what every other body shows'

/** The policy that a page asks for, in front of the widest rule that an administrator can have. */
async function policyOf(page: string): Promise<object> {
  const text = await readFile(join(DOCS, page), 'utf8')
  const [, block = ''] = /```yaml\n(apiVersion: audit[\s\S]*?)```/.exec(text) ?? []
  const policy = parse(block) as { readonly rules: readonly object[] }
  return { ...policy, rules: [...policy.rules, { level: 'RequestResponse' }] }
}

describe.each(PAGES)('with the audit policy of %s, kube-apiserver', (page) => {
  let plane: ControlPlane
  let folder: string
  let token: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mintonce-audit.'))
    const file = join(folder, 'policy.json')
    await writeFile(file, JSON.stringify(await policyOf(page)))
    plane = await startControlPlane({ apiServerFlags: [`--audit-policy-file=${file}`] })
    token = await plane.tokenOf('default', 'default', ['mintonce'])
    await create('apis/authentication.k8s.io/v1/tokenreviews', { kind: 'TokenReview', spec: { token } })
    await create('api/v1/namespaces/default/secrets', {
      kind: 'Secret',
      metadata: { name: 'redis-cache.default.account' },
      data: { password: STORED },
    })
    await create('api/v1/namespaces/default/configmaps', {
      kind: 'ConfigMap',
      metadata: { name: 'other' },
      data: { mark: MARK },
    })
    await eventually('the last of them is in the log', async () => (await plane.auditLog()).includes(MARK))
  })
  afterAll(async () => {
    await plane?.stop()
    await rm(folder, { recursive: true })
  })

  async function create(path: string, object: object): Promise<void> {
    const apiVersion = path.startsWith('api/') ? 'v1' : path.split('/').slice(1, 3).join('/')
    const body = JSON.stringify({ apiVersion, ...object })
    const headers = { 'content-type': 'application/json' }
    const request = new Request(`${plane.url}/${path}`, { method: 'POST', headers, body })
    expect((await plane.adminFetch(request)).status).toBe(201)
  }

  test('records that tokens were made and reviewed, and no token', async () => {
    const log = await plane.auditLog()
    expect(log).toContain('"requestURI":"/apis/authentication.k8s.io/v1/tokenreviews"')
    expect(log).toContain('"subresource":"token"')
    expect(log).not.toContain(token.split('.')[2])
  })

  test('records that a Secret was written, and nothing of its data', async () => {
    const log = await plane.auditLog()
    expect(log).toContain('"name":"redis-cache.default.account"')
    expect(log).not.toContain(STORED)
  })
})
