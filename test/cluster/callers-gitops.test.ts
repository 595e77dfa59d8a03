import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { type Admin, type Anything, adminOf, decode } from '../contract/kube.ts'
import { accepts } from '../contract/verify.ts'
import { command, type Finished } from '../control-plane/command.ts'
import { applyGitOpsCrds } from '../control-plane/gitops-crds.ts'
import { applySecretsOperatorCrds } from '../engines/secrets-operator.ts'
import { type Aggregated, startAggregated } from './aggregated.ts'
import { type AggregatedTenant, createAggregatedTenant } from './aggregated-tenant.ts'
import { type Followed, follow } from './follow.ts'
import { fillNamespace } from './full-namespace.ts'
import { edit, succeed } from './stand-ins.ts'

/** What `docs/callers/gitops.md` puts into Git: what kube-apiserver says of it, and what its Job does. */

const WEB = 'postgres-orders.web'
const SECRETS = '/api/v1/namespaces/tenant-acme/secrets'
const LOGIN = 'examples/gitops/login'

let aggregated: Aggregated
let tenant: AggregatedTenant
let admin: Admin
let page: Followed
/** Whose the Job is. */
let kubeconfig: string

beforeAll(async () => {
  aggregated = await startAggregated()
  const { plane } = aggregated
  admin = adminOf(plane.adminFetch)
  await applyGitOpsCrds(plane)
  await applySecretsOperatorCrds(plane)
  await plane.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } }])
  tenant = await createAggregatedTenant(aggregated, 'tenant-acme')
  page = await follow('docs/callers/gitops.md', plane)
  await succeed(plane, ['apply', '-k', join(page.folder, LOGIN)])
  const admins = JSON.parse(await readFile(plane.kubeconfig, 'utf8'))
  admins.users[0].user = { token: await plane.tokenOf('tenant-acme', 'orders-login') }
  kubeconfig = join(page.folder, 'job.kubeconfig')
  await writeFile(kubeconfig, JSON.stringify(admins))
})
afterAll(async () => {
  await page?.remove()
  await aggregated?.stop()
})

/** Objects as kustomize makes them. */
async function built(folder: string): Promise<readonly Anything[]> {
  const text = await succeed(aggregated.plane, ['kustomize', join(page.folder, folder)])
  return parseAllDocuments(text).map((document) => document.toJS())
}

/** For the kubelet: the Job's program, as its ServiceAccount, on this machine. */
async function runJob(folder = LOGIN): Promise<Finished> {
  const objects = await built(folder)
  const { spec, metadata } = objects.find(({ kind }) => kind === 'Job')
  const [container] = spec.template.spec.containers
  const entries = (container.env as readonly { readonly name: string; readonly value?: string }[]).map(
    ({ name, value }) => [name, value ?? metadata.namespace],
  )
  const { binaries } = aggregated.plane
  const [program, ...args] = [...container.command, ...container.args]
  return command(program, args, {
    cwd: page.folder,
    env: {
      ...Object.fromEntries(entries),
      HOME: page.folder,
      KUBECONFIG: kubeconfig,
      PATH: `${dirname(binaries.kubectl)}:${process.env.PATH}`,
    },
  })
}

const minted = (): number => [...aggregated.entry.output().matchAll(/"operation":"Mint".*"code":201/g)].length

async function delivered(name: string): Promise<Anything> {
  return admin.find(`${SECRETS}/${name}`)
}

async function letsIn({ data }: Anything): Promise<boolean> {
  const account = await admin.get(`${SECRETS}/${WEB}.account`)
  return accepts(decode(account.data.password), decode(data.password))
}

describe('the manifests', () => {
  test('kube-apiserver takes them, strictly', async () => {
    const login = await page.run('Once, and not at each reconciliation')
    expect(login.match(/\((?:server dry run|dry run)\)/g)).toHaveLength(5)
    expect(await page.run('Flux')).toMatch(/^(?:kustomization\.\S+ created \(server dry run\)\n){3}$/)
    expect(await page.run('With External Secrets Operator')).toMatch(/externalsecret\S* created/)
  })

  test('and would not take a field that is misspelt', async () => {
    const file = join(page.folder, 'examples/gitops/flux/orders.yaml')
    const misspelt = (await readFile(file, 'utf8')).replaceAll('dependsOn:', 'dependOn:')
    const args = ['apply', '--dry-run=server', '--validate=strict', '-f', '-']
    const { code, stderr } = await aggregated.plane.kubectl(args, misspelt)
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('unknown field "spec.dependOn"'),
    })
  })

  test('Argo CD: an Application that it takes, and the waves are in order', async () => {
    const output = await page.run('Argo CD')
    expect(output).toMatch(/^application\.argoproj\.io\/orders created \(server dry run\)$/m)
    const [, yaml = ''] = output.split('(server dry run)\n')
    const objects = parseAllDocuments(yaml).map((document): Anything => document.toJS())
    const waves = objects.map(({ kind, metadata }) => [
      kind,
      metadata.annotations?.['argocd.argoproj.io/sync-wave'],
    ])
    expect(Object.fromEntries(waves)).toMatchObject({ Postgres: undefined, Job: '1', Deployment: '2' })
    const job = objects.find(({ kind }) => kind === 'Job')
    expect(job.metadata.annotations).toMatchObject({ 'argocd.argoproj.io/hook': 'Sync' })
    // The hook's TTL is all that is not the same for Flux.
    const [plain] = (await built(LOGIN)).filter(({ kind }) => kind === 'Job')
    const { ttlSecondsAfterFinished, ...spec } = job.spec
    expect([ttlSecondsAfterFinished, spec]).toEqual([86_400, plain.spec])
    const parts = objects.filter(({ kind }) => kind !== 'Postgres')
    const args = ['apply', '--dry-run=server', '--validate=strict', '-f', '-']
    const applied = await aggregated.plane.kubectl(
      args,
      parts.map((part) => JSON.stringify(part)).join('\n---\n'),
    )
    expect(applied).toMatchObject({ code: 0, stderr: '' })
  })

  test('Flux: each Kustomization names a folder that there is, and waits for the one before', async () => {
    const text = await readFile(join(page.folder, 'examples/gitops/flux/orders.yaml'), 'utf8')
    const objects = parseAllDocuments(text).map((document): Anything => document.toJS())
    for (const { spec } of objects) {
      const kustomization = join(page.folder, 'examples/gitops', spec.path, 'kustomization.yaml')
      expect(parse(await readFile(kustomization, 'utf8')).kind).toBe('Kustomization')
      expect(spec.wait).toBe(true)
    }
    const needs = objects.map(({ metadata, spec }) => [metadata.name, spec.dependsOn?.[0]?.name])
    expect(needs).toEqual([
      ['orders-database', undefined],
      ['orders-login', 'orders-database'],
      ['orders-api', 'orders-login'],
    ])
  })
})

describe('the Job', () => {
  test('may mint for one account, make Secrets, and read its own', async () => {
    const can = async (...question: readonly string[]) =>
      (
        await aggregated.plane.kubectl([
          ...['--kubeconfig', kubeconfig, '-n', 'tenant-acme', 'auth', 'can-i'],
          ...question,
        ])
      ).stdout.trim()
    const credentials = 'credentials.credentials.cozystack.io'
    const asked = [
      ['create', `${credentials}/${WEB}`, '--subresource=mint'],
      ['get', 'secrets/orders-login-1'],
      ['create', 'secrets'],
      ['create', `${credentials}/postgres-orders.report`, '--subresource=mint'],
      ['create', `${credentials}/${WEB}`, '--subresource=revoke'],
      ['get', `secrets/${WEB}.account`],
      ['update', 'secrets/orders-login-1'],
    ]
    const answers = await Promise.all(asked.map((question) => can(...question)))
    expect(answers).toEqual(['yes', 'yes', 'yes', 'no', 'no', 'no', 'no'])
  })

  test('before the database is declared it fails, and nothing is stored', async () => {
    const { code, stderr } = await runJob()
    expect(code).not.toBe(0)
    expect(stderr).toContain('not found')
    expect([minted(), await delivered('orders-login-1')]).toEqual([0, undefined])
  })

  test('mints once, however often it runs, and prints no password', async () => {
    await tenant.release('Postgres', 'orders', { users: { web: {}, report: {} } })
    const first = await runJob()
    expect(first).toEqual({ code: 0, stdout: 'secret/orders-login-1 created\n', stderr: '' })
    const secret = await delivered('orders-login-1')
    expect(secret).toMatchObject({ type: 'kubernetes.io/basic-auth', immutable: true })
    expect(decode(secret.data.username)).toBe('web')
    // Nothing by which Flux or Argo CD would take it for theirs.
    expect([secret.metadata.labels, secret.metadata.annotations]).toEqual([undefined, undefined])
    expect(await letsIn(secret)).toBe(true)

    const second = await runJob()
    expect(second).toEqual({ code: 0, stdout: 'orders-login-1 is there: nothing to do\n', stderr: '' })
    expect((await runJob('examples/gitops/argocd')).stdout).toBe(second.stdout)
    expect([minted(), await delivered('orders-login-1')]).toEqual([1, secret])
  })

  test('when it cannot see whether the Secret is there, it does not mint', async () => {
    const file = join(page.folder, LOGIN, 'who-mints.yaml')
    await edit(file, 'resourceNames: [orders-login-1]', 'resourceNames: [another]')
    await succeed(aggregated.plane, ['apply', '-k', join(page.folder, LOGIN)])
    const { code, stderr } = await runJob()
    expect(code).not.toBe(0)
    expect(stderr).toContain('forbidden')
    expect(minted()).toBe(1)
    await edit(file, 'resourceNames: [another]', 'resourceNames: [orders-login-1]')
  })

  test('a rotation is another number: another Secret, and the Deployment names it', async () => {
    const before = await delivered('orders-login-1')
    await page.run('A rotation is a pull request')
    await succeed(aggregated.plane, ['apply', '-k', join(page.folder, LOGIN)])
    expect(await runJob()).toMatchObject({ code: 0, stdout: 'secret/orders-login-2 created\n' })
    const after = await delivered('orders-login-2')
    expect([await letsIn(before), await letsIn(after)]).toEqual([false, true])
    expect(minted()).toBe(2)
    const [deployment] = await built('examples/gitops/api')
    expect(JSON.stringify(deployment).match(/orders-login-\d/g)).toEqual(['orders-login-2', 'orders-login-2'])
    expect((await runJob('examples/gitops/argocd')).stdout).toContain('orders-login-2 is there')
  })

  test('a Secret that cannot be written: the next try mints once more, and delivers', async () => {
    await command('sed', ['-i', 's/orders-login-2/orders-login-3/g', join(page.folder, LOGIN, 'job.yaml')])
    await command('sed', [
      '-i',
      's/orders-login-2/orders-login-3/g',
      join(page.folder, LOGIN, 'who-mints.yaml'),
    ])
    await succeed(aggregated.plane, ['apply', '-k', join(page.folder, LOGIN)])
    const empty = await fillNamespace(aggregated.plane, 'tenant-acme')
    const { code, stdout, stderr } = await runJob()
    expect(code).not.toBe(0)
    expect(stderr).toContain('exceeded quota')
    expect(`${stdout}${stderr}`).not.toMatch(/\b[A-Za-z0-9]{32}\b/)
    await empty()
    expect(await runJob()).toMatchObject({ code: 0, stdout: 'secret/orders-login-3 created\n' })
    expect(minted()).toBe(4)
    expect(await letsIn(await delivered('orders-login-3'))).toBe(true)
  })
})

test('all of the page was run', () => {
  expect(page.left()).toEqual([])
})
