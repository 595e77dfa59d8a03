import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Admin, type Anything, adminOf, decode } from '../contract/kube.ts'
import { accepts } from '../contract/verify.ts'
import { buildOpenTofu, type OpenTofu } from '../control-plane/build-opentofu.ts'
import { command, type Finished } from '../control-plane/command.ts'
import { type ApiProxy, startApiProxy } from '../helpers/api-proxy.ts'
import { type Aggregated, GROUP, startAggregated } from './aggregated.ts'
import { createAggregatedTenant } from './aggregated-tenant.ts'
import { eventually } from './eventually.ts'
import { type Followed, follow } from './follow.ts'
import { answering, NO_ANSWERS, pausedBefore } from './kubectl-between.ts'
import { succeed } from './stand-ins.ts'

/** OpenTofu's own program does what `docs/callers/terraform.md` says, against a real kube-apiserver. */

const SECRETS = '/api/v1/namespaces/tenant-acme/secrets'

/** Whatever this machine's own configuration says. */
const MANNERS = { TF_CLI_CONFIG_FILE: '/dev/null', TF_CLI_ARGS: '-no-color', TF_INPUT: '0' } as const

let aggregated: Aggregated
let admin: Admin
let page: Followed
let openTofu: OpenTofu
let proxy: ApiProxy | undefined
/** Every password that the Secret has held. */
const passwords = new Set<string>()

beforeAll(async () => {
  openTofu = await buildOpenTofu()
  aggregated = await startAggregated()
  admin = adminOf(aggregated.plane.adminFetch)
  const tenant = await createAggregatedTenant(aggregated, 'tenant-acme')
  await tenant.release('Postgres', 'orders', { users: { web: {} } })
  const set = Object.entries(MANNERS).map(([name, value]) => `export ${name}=${value}\n`)
  page = await follow(
    'docs/callers/terraform.md',
    aggregated.plane,
    (block) => `PATH=${openTofu.bin}:$PATH\n${set.join('')}${block}`,
  )
})
afterAll(async () => {
  await proxy?.stop()
  await page?.remove()
  await aggregated?.stop()
})

const tofuIn =
  (folder: string, more: Readonly<Record<string, string>> = {}) =>
  async (...args: readonly string[]): Promise<Finished> => {
    const { binaries, kubeconfig } = aggregated.plane
    const PATH = [openTofu.bin, dirname(binaries.kubectl), process.env.PATH].join(delimiter)
    const env = { ...MANNERS, PATH, KUBECONFIG: kubeconfig, ...more }
    return command(join(openTofu.bin, 'tofu'), args, { cwd: join(page.folder, folder), env })
  }
const tofu = (...args: readonly string[]) => tofuIn('examples/terraform')(...args)

const minted = (): number => [...aggregated.entry.output().matchAll(/"operation":"Mint".*"code":201/g)].length

const inFolder = (name: string): Promise<string> =>
  readFile(join(page.folder, 'examples/terraform', name), 'utf8')

/** The password in the Secret is the one that the engine would let in. */
async function delivered(): Promise<string> {
  const secret: Anything = await admin.get(`${SECRETS}/orders-login`)
  const account: Anything = await admin.get(`${SECRETS}/postgres-orders.web.account`)
  const password = decode(secret.data.password)
  expect(accepts(decode(account.data.password), password)).toBe(true)
  expect([secret.type, decode(secret.data.username)]).toEqual(['kubernetes.io/basic-auth', 'web'])
  passwords.add(password)
  return password
}

/** Whether one of the passwords, or what a Secret has of it, stands there. */
const shows = (text: string): boolean =>
  [...passwords].some((password) =>
    [password, Buffer.from(password).toString('base64')].some((form) => text.includes(form)),
  )

test('the commands of the page mint twice, and no more; the state has a number, and nothing shows a password', async () => {
  const printed = await page.run('By a script')
  expect(printed).toContain('No changes. Your infrastructure matches the configuration.')
  expect(minted()).toBe(2)
  await delivered()
  const state = await inFolder('terraform.tfstate')
  const [{ instances }] = JSON.parse(state).resources
  expect(instances).toMatchObject([{ attributes: { triggers_replace: { value: 2, type: 'number' } } }])
  expect(printed).toContain(state)
  for (const text of [state, await inFolder('terraform.tfstate.backup'), printed]) {
    expect(text).not.toMatch(/password"|\b[A-Za-z0-9]{32}\b/)
    expect(shows(text)).toBe(false)
  }
  expect(page.left()).toEqual([])
})

test('a plan mints nothing, nor does what it keeps have a password', async () => {
  const before = minted()
  const planned = await tofu('plan', '-var', 'rotation=3', '-out=next.plan')
  expect(planned).toMatchObject({ code: 0, stderr: '' })
  expect(planned.stdout).toContain('must be replaced')
  const { stdout } = await tofu('show', '-json', 'next.plan')
  expect(JSON.parse(stdout).resource_changes[0].change.actions).toEqual(['delete', 'create'])
  expect(shows(stdout)).toBe(false)
  expect(minted()).toBe(before)
})

test('applied, it is another password, with nothing of it in the log', async () => {
  const before = await delivered()
  const { code, stdout, stderr } = await tofu('apply', 'next.plan')
  expect(code).toBe(0)
  expect(await delivered()).not.toBe(before)
  expect(shows(`${stdout}${stderr}${await inFolder('terraform.tfstate')}`)).toBe(false)
})

test('a Secret of somebody else’s is in the way: nothing is minted; the next apply tries again', async () => {
  const before = minted()
  const old = await delivered()
  const metadata = { name: 'orders-login', namespace: 'tenant-acme' }
  const fields = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/basic-auth' }
  await succeed(aggregated.plane, ['delete', 'secret', 'orders-login', '-n', 'tenant-acme'])
  await admin.create(SECRETS, { ...fields, metadata, stringData: { password: 'a' } })
  const failed = await tofu('apply', '-auto-approve', '-var', 'rotation=4')
  expect(failed.code).toBe(1)
  expect(`${failed.stdout}${failed.stderr}`).toContain('Apply failed with 1 conflict')
  expect(minted()).toBe(before)
  await succeed(aggregated.plane, ['delete', 'secret', 'orders-login', '-n', 'tenant-acme'])
  const repaired = await tofu('apply', '-auto-approve', '-var', 'rotation=4')
  expect(repaired).toMatchObject({ code: 0, stdout: expect.stringContaining('is tainted') })
  expect([minted(), (await delivered()) === old]).toEqual([before + 1, false])
})

describe('the script by itself', () => {
  const script = async (bin = ''): Promise<Finished> => {
    const { binaries, kubeconfig } = aggregated.plane
    const PATH = [bin, dirname(binaries.kubectl), process.env.PATH].filter(Boolean).join(delimiter)
    const what = { NAMESPACE: 'tenant-acme', CREDENTIAL: 'postgres-orders.web', SECRET: 'orders-login' }
    const file = join(page.folder, 'examples/terraform/mint-into-secret.sh')
    return command('sh', [file], { env: { ...what, PATH, KUBECONFIG: kubeconfig } })
  }
  const MINT = '*--raw*/mint'

  test.each(NO_ANSWERS)(
    'an answer with %s: it fails, and the Secret stays as it is',
    async (name, answer) => {
      const { data } = await admin.get(`${SECRETS}/orders-login`)
      const bin = join(page.folder, `answers ${name}`)
      await answering(bin, aggregated.plane.binaries.kubectl, MINT, answer)
      const { code, stderr } = await script(bin)
      expect([code, stderr]).toEqual([1, expect.stringContaining('no password came of the mint')])
      expect((await admin.get(`${SECRETS}/orders-login`)).data).toEqual(data)
    },
  )

  const before = {
    'the Secret is there': async () => {},
    'there is none yet': () =>
      succeed(aggregated.plane, ['delete', 'secret', 'orders-login', '-n', 'tenant-acme']),
  }
  test.each(Object.entries(before))('two at once, %s: the slower one fails', async (name, prepare) => {
    await prepare()
    const { kubectl } = aggregated.plane.binaries
    const last = '*" -f -"'
    const paused = await pausedBefore(join(page.folder, name), kubectl, last)
    const slow = script(paused.bin)
    await eventually('the first one has minted', paused.isReached)
    const quick = await script()
    await paused.goOn()
    const { code, stderr } = await slow
    expect([quick.code, code, stderr]).toEqual([
      0,
      1,
      expect.stringContaining('Operation cannot be fulfilled'),
    ])
    await delivered()
  })
})

describe('what the page warns of, with a provider of our own that POSTs', () => {
  /** A configuration of its own, where the provider needs no registry. */
  async function configured(folder: string, hcl: string): Promise<ReturnType<typeof tofuIn>> {
    const { plane } = aggregated
    proxy ??= await startApiProxy(plane.adminFetch)
    await mkdir(join(page.folder, folder))
    const overrides = `dev_overrides { "example.org/test/caller" = "${openTofu.provider}" }`
    await writeFile(join(page.folder, folder, 'tofurc'), `provider_installation {\n  ${overrides}\n}\n`)
    const url = `${proxy.url}/apis/${GROUP}/v1alpha1/namespaces/tenant-acme/credentials/postgres-orders.web/mint`
    const head = `terraform {
  required_providers {
    caller = { source = "example.org/test/caller" }
  }
}
locals { url = "${url}" }
variable "rotation" { default = 1 }
`
    await writeFile(join(page.folder, folder, 'main.tf'), head + hcl)
    return tofuIn(folder, { TF_CLI_CONFIG_FILE: join(page.folder, folder, 'tofurc') })
  }

  test('a data source: a mint at every plan, and the password in the state', async () => {
    const run = await configured('data', 'data "caller_post" "login" { url = local.url }\n')
    const before = minted()
    expect(await run('apply', '-auto-approve')).toMatchObject({ code: 0 })
    expect(minted()).toBe(before + 1)
    const state = await readFile(join(page.folder, 'data/terraform.tfstate'), 'utf8')
    expect(state).toMatch(/\\"password\\":\\"[A-Za-z0-9]{32}\\"/)
    expect(await run('plan')).toMatchObject({ code: 0 })
    expect(minted()).toBe(before + 2)
  })

  test('an ephemeral resource: nothing in the state, and a mint at every plan and again at the apply', async () => {
    const run = await configured(
      'ephemeral',
      `ephemeral "caller_post" "login" { url = local.url }
resource "terraform_data" "keep" {
  triggers_replace = var.rotation
  provisioner "local-exec" {
    command     = "true"
    environment = { ANSWER = ephemeral.caller_post.login.answer }
  }
}
`,
    )
    const before = minted()
    expect(await run('plan')).toMatchObject({ code: 0 })
    expect(minted()).toBe(before + 1)
    expect(await run('apply', '-auto-approve')).toMatchObject({ code: 0 })
    expect(minted()).toBe(before + 3)
    const state = await readFile(join(page.folder, 'ephemeral/terraform.tfstate'), 'utf8')
    expect(state).not.toMatch(/password|\b[A-Za-z0-9]{32}\b/)
    // Nothing has changed, and yet.
    const again = await run('apply', '-auto-approve')
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('No changes.') })
    expect(minted()).toBeGreaterThan(before + 3)
  })
})
