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
import { eventually } from './eventually.ts'
import { type Followed, follow } from './follow.ts'
import { fillNamespace } from './full-namespace.ts'
import { answering, NO_ANSWERS, pausedBefore } from './kubectl-between.ts'
import { seedOrders } from './seed.ts'
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
  kubeconfig = join(page.folder, 'job.kubeconfig')
  await writeKubeconfig()
})
afterAll(async () => {
  await page?.remove()
  await aggregated?.stop()
})

async function writeKubeconfig(): Promise<void> {
  const { plane } = aggregated
  const admins = JSON.parse(await readFile(plane.kubeconfig, 'utf8'))
  admins.users[0].user = { token: await plane.tokenOf('tenant-acme', 'orders-login') }
  await writeFile(kubeconfig, JSON.stringify(admins))
}

/** Objects as kustomize makes them. */
async function built(folder: string): Promise<readonly Anything[]> {
  const text = await succeed(aggregated.plane, ['kustomize', join(page.folder, folder)])
  return parseAllDocuments(text).map((document) => document.toJS())
}

interface Pod {
  readonly folder?: string
  /** Its UID. */
  readonly uid?: string
  /** A folder whose `kubectl` is in front of the real one. */
  readonly bin?: string
}

/** For the kubelet: the Job's program, as its ServiceAccount, on this machine. */
async function runJob({ folder = LOGIN, uid = 'a-pod', bin = '' }: Pod = {}): Promise<Finished> {
  const objects = await built(folder)
  const { spec, metadata } = objects.find(({ kind }) => kind === 'Job')
  const [container] = spec.template.spec.containers
  const fields: Anything = { 'metadata.namespace': metadata.namespace, 'metadata.uid': uid }
  const entries = (container.env as readonly Anything[]).map(({ name, value, valueFrom }) => [
    name,
    value ?? fields[valueFrom.fieldRef.fieldPath],
  ])
  const { binaries } = aggregated.plane
  const [program, ...args] = [...container.command, ...container.args]
  return command(program, args, {
    cwd: page.folder,
    env: {
      ...Object.fromEntries(entries),
      HOME: page.folder,
      KUBECONFIG: kubeconfig,
      PATH: [bin, dirname(binaries.kubectl), process.env.PATH].filter((part) => part !== '').join(':'),
    },
  })
}

/** A `kubectl` that waits before such calls. */
const paused = (name: string, calls: string) =>
  pausedBefore(join(page.folder, name), aggregated.plane.binaries.kubectl, calls)

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
  test('may mint for one account and look at it, make Secrets, and write its own', async () => {
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
      ['get', `${credentials}/${WEB}`],
      ['get', 'secrets/orders-login-1'],
      ['update', 'secrets/orders-login-1'],
      ['create', 'secrets'],
      ['create', `${credentials}/postgres-orders.report`, '--subresource=mint'],
      ['create', `${credentials}/${WEB}`, '--subresource=revoke'],
      ['get', `secrets/${WEB}.account`],
      ['update', `secrets/${WEB}.account`],
    ]
    const answers = await Promise.all(asked.map((question) => can(...question)))
    expect(answers).toEqual(['yes', 'yes', 'yes', 'yes', 'yes', 'no', 'no', 'no', 'no'])
  })

  test('is given its rights by nobody who lacks them', async () => {
    const { plane, kubectlAs } = aggregated
    const deployer = await kubectlAs('deployer', [])
    const rbac = { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'rolebindings'] }
    const base = [
      { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['*'] },
      { apiGroups: ['batch'], resources: ['jobs'], verbs: ['*'] },
    ]
    const verbs = ['get', 'create', 'patch', 'update']
    await tenant.bindRole('deployer', [...base, { ...rbac, verbs }])
    await succeed(plane, ['delete', '-k', join(page.folder, LOGIN)])
    const refused = await deployer(['apply', '-k', join(page.folder, LOGIN)])
    expect([refused.code === 0, refused.stderr]).toEqual([
      false,
      expect.stringContaining('is attempting to grant RBAC permissions not currently held'),
    ])
    await tenant.bindRole('deployer', [{ ...rbac, verbs: ['escalate', 'bind'] }])
    expect(await deployer(['apply', '-k', join(page.folder, LOGIN)])).toMatchObject({ code: 0 })
    // The account is another one by now.
    await writeKubeconfig()
  })

  test('before the database is declared it fails, and nothing is stored', async () => {
    const { code, stderr } = await runJob()
    expect(code).not.toBe(0)
    expect(stderr).toContain('not found')
    expect([minted(), await delivered('orders-login-1')]).toEqual([0, undefined])
  })

  test('mints once, however often it runs, and prints no password', async () => {
    await tenant.release('Postgres', 'orders', { users: { web: {}, report: {} } })
    await seedOrders(aggregated, 'tenant-acme')
    const first = await runJob()
    expect(first).toEqual({ code: 0, stdout: 'orders-login-1 has its password\n', stderr: '' })
    const secret = await delivered('orders-login-1')
    expect(secret).toMatchObject({ type: 'kubernetes.io/basic-auth', immutable: true })
    expect(Object.keys(secret.data).toSorted()).toEqual(['password', 'username'])
    expect(decode(secret.data.username)).toBe('web')
    // Nothing by which Flux or Argo CD would take it for theirs.
    expect([secret.metadata.labels, secret.metadata.annotations]).toEqual([undefined, undefined])
    expect(await letsIn(secret)).toBe(true)

    const second = await runJob()
    expect(second).toEqual({ code: 0, stdout: 'orders-login-1 is there: nothing to do\n', stderr: '' })
    expect((await runJob({ folder: 'examples/gitops/argocd' })).stdout).toBe(second.stdout)
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
    expect(await runJob()).toMatchObject({ code: 0, stdout: 'orders-login-2 has its password\n' })
    const after = await delivered('orders-login-2')
    expect([await letsIn(before), await letsIn(after)]).toEqual([false, true])
    expect(minted()).toBe(2)
    const [deployment] = await built('examples/gitops/api')
    expect(JSON.stringify(deployment).match(/orders-login-\d/g)).toEqual(['orders-login-2', 'orders-login-2'])
    expect((await runJob({ folder: 'examples/gitops/argocd' })).stdout).toContain('orders-login-2 is there')
  })

  test('a Secret that cannot be written: nothing is minted, and the next try delivers', async () => {
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
    expect(minted()).toBe(2)
    await empty()
    expect(await runJob()).toMatchObject({ code: 0, stdout: 'orders-login-3 has its password\n' })
    expect(minted()).toBe(3)
    expect(await letsIn(await delivered('orders-login-3'))).toBe(true)
  })

  const LAST_WRITE = '*" replace "*'
  const MINT = '*--raw*/mint'
  test.each([
    ['before it writes what it got', 'write', LAST_WRITE, 2],
    ['before its mint', 'mint', MINT, 1],
  ])(
    'two pods at once, one stops %s and goes on later: the Secret logs in',
    async (_what, name, calls, mints) => {
      await succeed(aggregated.plane, ['delete', 'secret', 'orders-login-3', '-n', 'tenant-acme'])
      const before = minted()
      const between = await paused(name, calls)
      const slow = runJob({ uid: 'slow', bin: between.bin })
      await eventually('the first pod has stopped', between.isReached)
      // Of whom pods that wait for the Secret see no password yet.
      expect(Object.keys((await delivered('orders-login-3')).data)).not.toContain('password')
      const quick = await runJob({ uid: 'quick' })
      await between.goOn()
      const { code, stdout, stderr } = await slow
      expect(code).not.toBe(0)
      expect(`${stdout}${stderr}`).toMatch(/Conflict|object has been modified/)
      expect(quick).toMatchObject({ code: 0, stdout: 'orders-login-3 has its password\n' })
      expect(await letsIn(await delivered('orders-login-3'))).toBe(true)
      // The kubelet tries again.
      expect((await runJob({ uid: 'again' })).stdout).toBe('orders-login-3 is there: nothing to do\n')
      expect(minted()).toBe(before + mints)
    },
  )

  test('a second pod has looked before the first one writes what it got: the Secret logs in', async () => {
    await succeed(aggregated.plane, ['delete', 'secret', 'orders-login-3', '-n', 'tenant-acme'])
    const [older, newer] = [await paused('older', LAST_WRITE), await paused('newer', MINT)]
    const first = runJob({ uid: 'older', bin: older.bin })
    await eventually('the first one has minted', older.isReached)
    const second = runJob({ uid: 'newer', bin: newer.bin })
    await eventually('the second one is about to mint', newer.isReached)
    await older.goOn()
    expect((await first).code).not.toBe(0)
    await newer.goOn()
    expect(await second).toMatchObject({ code: 0 })
    expect(await letsIn(await delivered('orders-login-3'))).toBe(true)
  })

  test.each([...NO_ANSWERS, ['no version', '{"metadata": {"uid": "1"}}'] as const])(
    'a read with %s: nothing is minted',
    async (name, answer) => {
      await succeed(aggregated.plane, ['delete', 'secret', 'orders-login-3', '-n', 'tenant-acme'])
      const before = minted()
      const real = aggregated.plane.binaries.kubectl
      const { bin } = await answering(join(page.folder, `reads ${name}`), real, '*get*--raw*', answer)
      const { code, stderr } = await runJob({ bin })
      expect([code === 0, stderr]).toEqual([false, expect.stringContaining('no Credential came of the read')])
      expect([minted(), await delivered('orders-login-3')]).toEqual([before, undefined])
      expect(await runJob()).toMatchObject({ code: 0 })
    },
  )

  test.each(NO_ANSWERS)('an answer with %s is not stored as a password', async (name, answer) => {
    await succeed(aggregated.plane, ['delete', 'secret', 'orders-login-3', '-n', 'tenant-acme'])
    const real = aggregated.plane.binaries.kubectl
    const { bin } = await answering(join(page.folder, `answers ${name}`), real, MINT, answer)
    const { code, stderr } = await runJob({ bin })
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining('no password came of the mint')])
    expect((await delivered('orders-login-3')).data).not.toHaveProperty('password')
    expect(await runJob({ uid: 'again' })).toMatchObject({ code: 0 })
    expect(await letsIn(await delivered('orders-login-3'))).toBe(true)
  })
})

test('all of the page was run', () => {
  expect(page.left()).toEqual([])
})
