import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { serveWorker } from '../cli/command.ts'
import type { Backend } from '../contract/backend.ts'
import { type RealApiServer, startRealApiServer } from '../contract/backends/real-api-server.ts'
import { sendLines } from '../contract/backends/send-lines.ts'
import { decode } from '../contract/kube.ts'
import { adminOfTenant, answerOf, createTenant } from '../contract/tenant.ts'
import { accepts } from '../contract/verify.ts'
import { readPage } from '../docs/blocks.ts'
import { bindingOf, execKubeconfig } from '../helpers/exec-kubeconfig.ts'
import type { Running } from '../helpers/program.ts'
import { createWorkerProject, startListening, type WorkerProject } from '../helpers/worker-project.ts'

const CREDENTIAL = 'postgres-orders.web'

let api: RealApiServer
beforeAll(async () => {
  api = await startRealApiServer()
})
afterAll(() => api?.stop())

const backendOf = ({ origin, output }: Pick<Running, 'output'> & { readonly origin: string }): Backend => ({
  call: (path, init) => fetch(`${origin}${path}`, init),
  callWithLines: sendLines(origin),
  joinsHeaders: true,
  admin: api.admin,
  tokenOf: api.tokenOf,
  logged: output,
  stored: api.stored,
  stop: async () => undefined,
})

/** A mint by a ServiceAccount, and one by somebody who only says to be kube-apiserver's front proxy. */
async function expectMints(backend: Backend): Promise<void> {
  const tenant = await createTenant(backend)
  await tenant.release('Postgres', 'orders', { users: { web: {} } })
  const forged = { 'X-Remote-User': 'root', 'X-Remote-Group': 'system:masters' }
  const path = tenant.path(CREDENTIAL, 'mint')
  const nobody = await answerOf(await backend.call(path, { method: 'POST', headers: forged }))
  expect([nobody.status, await tenant.secret(CREDENTIAL)]).toEqual([401, undefined])

  const minted = await tenant.mint(CREDENTIAL, { headers: forged })
  expect(minted.status, backend.logged()).toBe(201)
  const { data } = await tenant.secret(CREDENTIAL)
  expect(accepts(decode(data.password), minted.body.status.password)).toBe(true)
  const { body } = await tenant.get(CREDENTIAL)
  expect(body.status.password.by).toBe(adminOfTenant(tenant))
  expect((await tenant.mint(CREDENTIAL, { as: 'viewer' })).status).toBe(403)
  expect(backend.logged()).not.toContain(minted.body.status.password)
}

/** Kubeconfigs, by what they authenticate with. */
const KUBECONFIGS: readonly (readonly [string, () => Promise<string>])[] = [
  ['a client certificate', async () => api.plane.kubeconfig],
  ['an exec plug-in', () => execKubeconfig(api.plane)],
]

describe('npm run dev:worker in front of a cluster', () => {
  test.each(KUBECONFIGS)('mints with the rights of a kubeconfig with %s', async (_name, kubeconfig) => {
    const serving = await serveWorker(['--kubeconfig', await kubeconfig()])
    onTestFinished(async () => void (await serving.stop('SIGTERM')))
    expect(serving.output()).toContain(`context mintonce-test (${api.plane.url})`)
    await expectMints(backendOf(serving))
  })

  test('takes the cluster that kubectl would take', async () => {
    const { stop, output } = await serveWorker([], { KUBECONFIG: api.plane.kubeconfig })
    onTestFinished(async () => void (await stop('SIGTERM')))
    expect(output()).toContain(`context mintonce-test (${api.plane.url})`)
  })
})

describe('wrangler dev beside npm run dev:kube', () => {
  test.each(KUBECONFIGS)('mints with the rights of a kubeconfig with %s', async (_name, kubeconfig) => {
    const project = await createWorkerProject()
    onTestFinished(project.remove)
    await project.start(`npm run dev:kube -- --kubeconfig ${await kubeconfig()}`, /npx wrangler dev/)
    await expectMints(backendOf(await startListening(project, 'npx wrangler dev --port 8080 --local')))
  })
})

describe('workerd with what deploy/workerd configures', () => {
  /** kubectl as this test has it, with a kubeconfig of the function's operator. */
  async function project(kubeconfig: string): Promise<WorkerProject> {
    const { plane } = api
    const bin = join(plane.folder, `bin-${Math.random().toString(36).slice(2)}`)
    await mkdir(bin)
    await symlink(plane.binaries.kubectl, join(bin, 'kubectl'))
    const created = await createWorkerProject({ path: bin, env: { KUBECONFIG: kubeconfig } })
    onTestFinished(created.remove)
    return created
  }

  /** The lines of docs/worker.md, on a port that is free. */
  async function startAsDocumented(mark: string, kubeconfig: string) {
    const { blocks } = await readPage('docs/worker.md')
    const lines = blocks(mark).join('\n')
    expect(lines).toContain('npx workerd serve ')
    const elsewhere = lines.replace('npx workerd serve ', 'npx workerd serve -s http=127.0.0.1:8080 ')
    return startListening(await project(kubeconfig), elsewhere)
  }

  test('mints with the token of the ServiceAccount', async () => {
    await expectMints(backendOf(await startAsDocumented('workerd', api.plane.kubeconfig)))
  })

  test('mints with a client certificate whose user has the rights of the function', async () => {
    await api.plane.apply([bindingOf({ kind: 'User', name: 'worker' })])
    const kubeconfig = await api.plane.kubeconfigFor('worker', [])
    await expectMints(backendOf(await startAsDocumented('workerd-certificate', kubeconfig)))
  })

  test('does not talk to an API server that another CA vouches for', async () => {
    const { plane } = api
    const created = await project(plane.kubeconfig)
    const { host } = new URL(plane.url)
    const lines = `npm run build -- worker
      cd deploy/workerd
      cp ${plane.requestHeader.caFile} ca.crt
      KUBE_TOKEN=a-secret-token npx workerd serve -s http=127.0.0.1:8080 -e kube=${host} config.capnp`
    const { origin, output } = await startListening(created, lines)
    const ready = await fetch(`${origin}/readyz`)
    expect([ready.status, await ready.text()]).toEqual([
      503,
      expect.stringContaining('not ready: the Kubernetes API: kube_unreachable'),
    ])
    expect(output()).toContain('not trusted')
    expect(output()).not.toContain('a-secret-token')
  })
})
