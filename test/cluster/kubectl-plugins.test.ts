import { readFile, stat, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHttpsClient } from '../../src/k8s/node-https.ts'
import { type Admin, type Anything, adminOf, decode } from '../contract/kube.ts'
import { accepts } from '../contract/verify.ts'
import { command, type Finished } from '../control-plane/command.ts'
import { type ApiProxy, startApiProxy } from '../helpers/api-proxy.ts'
import { type CutProxy, startCutProxy } from '../helpers/cut-proxy.ts'
import { execKubeconfig } from '../helpers/exec-kubeconfig.ts'
import { buildPlugins, type Plugins } from '../helpers/plugins.ts'
import { type Aggregated, GROUP, startAggregated } from './aggregated.ts'
import { type AggregatedTenant, createAggregatedTenant } from './aggregated-tenant.ts'
import { registerApiService } from './api-service.ts'
import { eventually } from './eventually.ts'
import { type Followed, follow } from './follow.ts'

const WEB = 'postgres-orders.web'
const IN = ['-n', 'tenant-acme']
const SECRET = `/api/v1/namespaces/tenant-acme/secrets/${WEB}.account`
const SOON = { interval: 10, timeout: 20_000 }

let aggregated: Aggregated
let between: ApiProxy
let wire: CutProxy
let tenant: AggregatedTenant
let admin: Admin
let plugins: Plugins
const kubeconfigs = { jane: '', victor: '', bob: '', admin: '' }

beforeAll(async () => {
  plugins = await buildPlugins()
  aggregated = await startAggregated(async ({ plane }) => {
    between = await startApiProxy(createHttpsClient(plane.url, { ca: plane.ca }).fetch)
    return { MINTONCE_KUBE_URL: between.url }
  })
  const { plane, entry } = aggregated
  wire = await startCutProxy(entry.port)
  await registerApiService(plane, wire.port, GROUP)
  admin = adminOf(plane.adminFetch)
  tenant = await createAggregatedTenant(aggregated, 'tenant-acme')
  await tenant.release('Postgres', 'orders', { users: { web: {}, report: {} } })
  for (const who of ['jane', 'victor', 'bob'] as const) kubeconfigs[who] = await plane.kubeconfigFor(who, [])
  kubeconfigs.admin = plane.kubeconfig
})
afterAll(async () => {
  await aggregated?.stop()
  await wire?.stop()
  await between?.stop()
  await plugins?.remove()
})

/** The real kubectl, which finds the plug-ins on its `PATH`. */
const kubectlWith =
  (kubeconfig: string) =>
  (...args: readonly string[]): Promise<Finished> => {
    const { binaries, folder } = aggregated.plane
    return command(binaries.kubectl, args, {
      env: {
        KUBECONFIG: kubeconfig,
        KUBECACHEDIR: join(folder, 'kubectl-cache'),
        KUBERC: 'off',
        PATH: [plugins.bin, process.env.PATH].join(delimiter),
      },
    })
  }
const as = (who: keyof typeof kubeconfigs) => kubectlWith(kubeconfigs[who])

/** Another kubeconfig of the administrator's, changed a little. */
async function kubeconfigBy(edit: (kubeconfig: Anything) => void): Promise<string> {
  const kubeconfig = JSON.parse(await readFile(kubeconfigs.admin, 'utf8'))
  edit(kubeconfig)
  const file = join(aggregated.plane.folder, 'edited.kubeconfig')
  await writeFile(file, JSON.stringify(kubeconfig))
  return file
}

const secret = (): Promise<Anything> => admin.find(SECRET)
async function isStored(password: string | undefined): Promise<boolean> {
  const { data } = await secret()
  return accepts(decode(data.password), password ?? '')
}
async function newest(): Promise<Anything> {
  const { status } = await admin.get(tenant.path(WEB))
  return status.history[0]
}

/** What is printed into a pipe, when nothing else is. */
function printed({ code, stdout, stderr }: Finished): string {
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

describe('kubectl mint', () => {
  test('is a plug-in that kubectl lists', async () => {
    const { stdout } = await as('jane')('plugin', 'list', '--name-only')
    expect(stdout.trim().split('\n')).toEqual(expect.arrayContaining(['kubectl-mint', 'kubectl-revoke']))
  })

  test.each([
    ['password', [], /^(?<password>\w{32})\n$/],
    ['env', ['--prefix', 'PG'], /^PGUSERNAME='web'\nPGPASSWORD='(?<password>\w{32})'\n$/],
    ['uri', ['--template', 'pg://{username}:{password}@db/'], /^pg:\/\/web:(?<password>\w{32})@db\/\n$/],
    ['json', [], /^\{\n {4}"apiVersion": .*"password": "(?<password>\w{32})".*\n\}\n$/s],
  ])(
    '-o %s prints that into a pipe, and the password is the one that is stored',
    async (output, more, shape) => {
      const stdout = printed(await as('jane')('mint', WEB, ...IN, '-o', output, ...more))
      const password = shape.exec(stdout)?.groups?.password
      expect(password, stdout.replace(/\w{32}/g, '…')).toBeDefined()
      expect(await isStored(password)).toBe(true)
      expect(await newest()).toMatchObject({ operation: 'Mint', by: 'jane' })
    },
  )

  test('-o json is the answer as it came', async () => {
    expect(JSON.parse(printed(await as('jane')('mint', WEB, ...IN, '-o', 'json')))).toEqual({
      apiVersion: `${GROUP}/v1alpha1`,
      kind: 'CredentialRequest',
      metadata: { name: WEB, namespace: 'tenant-acme' },
      status: {
        username: 'web',
        password: expect.stringMatching(/^\w{32}$/),
        issuedAt: expect.stringMatching(/Z$/),
      },
    })
  })

  test('for people it says when it works, and what it says holds no password', async () => {
    const { code, stdout, stderr } = await as('jane')('mint', WEB, ...IN)
    const [, password = ''] = /^username: web\npassword: (\w{32})\nissuedAt: \S+Z\n$/.exec(stdout) ?? []
    expect({ code, isStored: await isStored(password) }).toEqual({ code: 0, isStored: true })
    expect(stderr).toMatch(/^Shown this once\. .*\n$/)
    expect(stderr).not.toMatch(/\w{32}/)
  })

  test('audit says which program it was', async () => {
    await eventually('it is written', async () =>
      /"userAgent":"kubectl-mint\/\d+\.\d+\.\d+"/.test(await aggregated.plane.auditLog()),
    )
  })

  test('a dry run changes nothing', async () => {
    const before = await secret()
    expect(printed(await as('jane')('mint', WEB, ...IN, '--dry-run=server'))).toBe(
      `credential/${WEB} minted (server dry run)\n`,
    )
    expect(await secret()).toEqual(before)
  })
})

describe('kubectl revoke', () => {
  test('nobody logs in with what was minted', async () => {
    const password = printed(await as('jane')('mint', WEB, ...IN, '-o', 'password')).trim()
    expect(await isStored(password)).toBe(true)
    const { code, stdout } = await as('jane')('revoke', WEB, ...IN)
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^credential\/postgres-orders\.web revoked at \S+Z\n$/),
    })
    expect(await isStored(password)).toBe(false)
    expect(await newest()).toMatchObject({ operation: 'Revoke', by: 'jane' })
  })
})

describe('what is refused changes nothing, and has an exit code', () => {
  test('--resource-version: the one that get shows is taken, an older one is a conflict (5)', async () => {
    const jsonpath = 'jsonpath={.metadata.resourceVersion}'
    const version = printed(await as('jane')('get', 'credentials', WEB, ...IN, '-o', jsonpath))
    const mint = () => as('jane')('mint', WEB, ...IN, '-o', 'password', '--resource-version', version)
    printed(await mint())
    const before = await secret()
    const { code, stdout, stderr } = await mint()
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
    expect(stderr).toMatch(/^Error from server \(Conflict\): credential .* changed: password issued by jane /)
    expect(await secret()).toEqual(before)
  })

  test.each(['victor', 'bob'] as const)(
    '%s is not allowed (3), and told what RBAC would need',
    async (who) => {
      const before = await secret()
      for (const verb of ['mint', 'revoke']) {
        const { code, stdout, stderr } = await as(who)(verb, WEB, ...IN)
        expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
        expect(stderr).toContain(`User "${who}" cannot create resource "credentials/${verb}"`)
        expect(stderr).toContain(`RBAC has to allow "create" on "credentials/${verb}" in ${GROUP}`)
      }
      expect(await secret()).toEqual(before)
    },
  )

  test('a token that kube-apiserver does not know is not allowed (3)', async () => {
    const file = await kubeconfigBy(({ users }) => {
      users[0].user = { token: 'nobody' }
    })
    expect(await kubectlWith(file)('mint', WEB, ...IN)).toEqual({
      code: 3,
      stdout: '',
      stderr: 'Error from server (Unauthorized): Unauthorized\n',
    })
  })

  test('an account, and an API, that are not there (4)', async () => {
    const account = await as('jane')('mint', 'postgres-orders.nobody', ...IN)
    expect(account).toMatchObject({ code: 4, stdout: '' })
    expect(account.stderr).toContain(`kubectl -n tenant-acme get credentials.${GROUP} shows`)
    const api = await as('admin')('mint', WEB, ...IN, '--group', 'nobody.example')
    expect(api).toMatchObject({ code: 4, stdout: '' })
    expect(api.stderr).toContain('the cluster serves no nobody.example/v1alpha1\n')
  })

  test('http:// in place of https:// is refused by kube-apiserver (1), with a hint', async () => {
    const file = await kubeconfigBy(({ clusters: [{ cluster }] }) => {
      cluster.server = cluster.server.replace('https:', 'http:')
    })
    const { code, stderr } = await kubectlWith(file)('mint', WEB, ...IN)
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('want https://?') })
  })

  test('flags before the plug-in’s name are refused by kubectl', async () => {
    const { code, stderr } = await as('jane')(...IN, 'mint', WEB)
    expect(code).toBe(1)
    expect(stderr).toContain('flags cannot be placed before plugin name')
  })
})

describe('whom kube-apiserver takes the caller for', () => {
  test('a program of the kubeconfig says who it is', async () => {
    const operator = 'system:serviceaccount:default:operator'
    await tenant.bindRole(operator, [
      { apiGroups: [GROUP], resources: ['credentials/mint'], verbs: ['create'] },
    ])
    const kubectl = kubectlWith(await execKubeconfig(aggregated.plane))
    const password = printed(await kubectl('mint', WEB, ...IN, '-o', 'password')).trim()
    expect(await isStored(password)).toBe(true)
    expect(await newest()).toMatchObject({ operation: 'Mint', by: operator })
  })

  test('an administrator with --as is somebody else, whose rights count', async () => {
    const jane = [
      '--as',
      'jane',
      '--as-group',
      'a, b',
      '--as-group',
      'system:authenticated',
      '--as-uid',
      'u-7',
    ]
    const password = printed(await as('admin')('mint', WEB, ...IN, '-o', 'password', ...jane)).trim()
    expect(await isStored(password)).toBe(true)
    expect(await newest()).toMatchObject({ operation: 'Mint', by: 'jane' })
    const groups = async () =>
      (await aggregated.plane.auditLog())
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).impersonatedUser)
        .findLast((user) => user?.uid === 'u-7')?.groups
    await expect.poll(groups, SOON).toEqual(['a, b', 'system:authenticated'])
    expect((await as('admin')('mint', WEB, ...IN, '--as', 'bob')).code).toBe(3)
  })

  test('a kubeconfig that impersonates: all that it says, as kubectl itself reads it', async () => {
    const user = { as: 'nobody', 'as-uid': 'u-8', 'as-groups': ['acme-dba', 'a, b'] }
    const extra = { 'as-user-extra': { 'acme.example/team': ['x', 'y'] } }
    const file = await kubeconfigBy(({ users }) => Object.assign(users[0].user, user, extra))
    const rule = { apiGroups: [GROUP], resources: ['credentials/mint'], verbs: ['create'] }
    await tenant.bindRole('acme-dba', [rule], 'Group')
    printed(await kubectlWith(file)('mint', WEB, ...IN, '-o', 'password'))
    expect(await newest()).toMatchObject({ by: 'nobody' })
    printed(await kubectlWith(file)('get', 'credentials', ...IN, '-o', 'name'))
    const seen = async () =>
      (await aggregated.plane.auditLog())
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
        .filter(({ impersonatedUser }) => impersonatedUser?.uid === 'u-8')
        .filter(({ objectRef }) => objectRef?.resource === 'credentials')
        .map(({ verb, impersonatedUser }) => [verb, impersonatedUser])
    await expect.poll(async () => (await seen()).map(([verb]) => verb), SOON).toEqual(['create', 'list'])
    const [[, byPlugin], [, byKubectl]] = (await seen()) as [[string, Anything], [string, Anything]]
    expect(byPlugin).toEqual(byKubectl)
    expect(byPlugin).toMatchObject({ extra: { 'acme.example/team': ['x', 'y'] } })
    expect(byPlugin.groups).toEqual(expect.arrayContaining(['acme-dba', 'a, b']))
  })

  test('a tokenFile beside the kubeconfig says who it is', async () => {
    const { plane } = aggregated
    await plane.apply([
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'filed', namespace: 'default' } },
    ])
    const filed = 'system:serviceaccount:default:filed'
    const rule = { apiGroups: [GROUP], resources: ['credentials/mint'], verbs: ['create'] }
    await tenant.bindRole(filed, [rule])
    await writeFile(join(plane.folder, 'filed.token'), `${await plane.tokenOf('default', 'filed')}\n`)
    const file = await kubeconfigBy(({ users }) => {
      users[0].user = { tokenFile: 'filed.token' }
    })
    printed(await kubectlWith(file)('mint', WEB, ...IN, '-o', 'password'))
    expect(await newest()).toMatchObject({ by: filed })
  })

  test('who may not impersonate does not', async () => {
    const { code, stderr } = await as('victor')('mint', WEB, ...IN, '--as', 'jane')
    expect(code).toBe(3)
    // KEP-5284 has more verbs than "impersonate".
    expect(stderr).toMatch(/ User "victor" cannot impersonate/)
    expect(stderr).toContain('RBAC has to let you impersonate')
    expect(stderr).not.toContain('RBAC has to allow "create"')
  })

  test('--context takes another person, and the namespace of that context', async () => {
    const [victor, jane] = await Promise.all(
      ([kubeconfigs.victor, kubeconfigs.jane] as const).map(async (file) =>
        JSON.parse(await readFile(file, 'utf8')),
      ),
    )
    const file = await kubeconfigBy((kubeconfig) => {
      kubeconfig.users[0] = victor.users[0]
      kubeconfig.users.push({ ...jane.users[0], name: 'jane' })
      const context = { ...jane.contexts[0].context, user: 'jane', namespace: 'tenant-acme' }
      kubeconfig.contexts.push({ name: 'acme', context })
    })
    const kubectl = kubectlWith(file)
    printed(await kubectl('mint', WEB, '-o', 'password', '--context', 'acme'))
    expect(await newest()).toMatchObject({ by: 'jane' })
    expect((await kubectl('mint', WEB, ...IN)).code).toBe(3)
  })
})

describe('kubectl’s own completion asks the plug-ins', () => {
  const completed = async (...words: readonly string[]) => {
    const { code, stdout } = await as('jane')('__complete', ...words)
    expect(code).toBe(0)
    return stdout.trimEnd().split('\n')
  }

  test('for names, once they have been minted', async () => {
    printed(await as('jane')('mint', WEB, ...IN, '-o', 'password'))
    const found = [`${WEB}\tPostgres orders, Minted`, ':4']
    expect(await completed('mint', ...IN, '')).toEqual(found)
    expect(await completed('revoke', ...IN, 'postgres-orders.w')).toEqual(found)
    expect(await completed('mint', ...IN, 'mariadb')).toEqual([':4'])
    // The kubeconfig's namespace has none.
    expect(await completed('mint', '')).toEqual([':4'])
  })

  test('for flags, and for what they take', async () => {
    expect(await completed('mint', '--resource')).toEqual([
      '--resource-version\tonly when the credential still has this one',
      ':4',
    ])
    expect(await completed('mint', WEB, '-o', '')).toEqual(['json', 'env', 'password', 'uri', ':4'])
  })

  test('and knows them as commands', async () => {
    expect(await completed('min')).toEqual(['mint\tThe command mint is a plugin installed by the user', ':4'])
  })
})

describe('docs/kubectl.md', () => {
  let page: Followed
  const passwords: string[] = []
  const run = async (heading: string): Promise<string> => {
    const output = await page.run(heading)
    passwords.push(...(output.match(/\b[A-Za-z0-9]{32}\b/g) ?? []))
    return output
  }

  beforeAll(async () => {
    page = await follow('docs/kubectl.md', aggregated.plane, (block) =>
      block.replace('npm ci && ', '').replace(/^/, 'PATH="$PWD/bin:$PATH"\n'),
    )
  })
  afterAll(() => page?.remove())

  test('the plug-ins are built, and found', async () => {
    expect(await run('Install')).toMatch(/^kubectl-mint\nkubectl-revoke\nkubectl-mint \d+\.\d+\.\d+\n$/m)
  })

  test('what is minted is printed where it should be: the newest one is stored', async () => {
    expect(await run('Mint')).toMatch(/\(server dry run\)\nusername: web\n/)
    const read = (name: string) => readFile(join(page.folder, name), 'utf8')
    const { data } = await admin.get('/api/v1/namespaces/tenant-acme/secrets/orders-login')
    const [, inFile = ''] =
      /^DB_USERNAME='web'\nDB_PASSWORD='(\w{32})'\n$/.exec(await read('orders.env')) ?? []
    const last = (await read('orders.password')).trim()
    const minted = [...passwords, decode(data.password), inFile, last]
    expect(minted).toEqual(Array(4).fill(expect.stringMatching(/^\w{32}$/)))
    expect(await Promise.all(minted.map(isStored))).toEqual([false, false, false, true])
    expect((await stat(join(page.folder, 'orders.env'))).mode & 0o077).toBe(0)
  })

  test('the rest does what is said, too', async () => {
    expect(await run('Revoke')).toMatch(/^credential\/postgres-orders\.web revoked at /)
    expect(await run('Exit codes')).toBe('')
    expect(await run('Who you are')).toContain('minted (server dry run)')
    expect(await run('Completion')).toBe(`${WEB}\tPostgres orders, Minted\n:4\n`)
    const output = await run('Without the plug-ins')
    expect(output).toMatch(/^postgres-orders\.web +orders +web +Minted /m)
    expect(await isStored(passwords.at(-1))).toBe(true)
    expect(page.left()).toEqual([])
  })
})

describe('when the function cannot be asked', () => {
  test('the answer is lost after the password was stored: unknown (6), and a second mint counts', async () => {
    const isWrite = (call: string) => /^(POST|PUT) .*\/secrets/.test(call)
    const before = await secret()
    const writes = between.calls().filter(isWrite).length
    const goOn = between.hold(isWrite)
    const minted = as('jane')('mint', WEB, ...IN, '-o', 'password')
    await expect.poll(() => between.calls().filter(isWrite).length, SOON).toBe(writes + 1)
    const cut = wire.cutNextAnswer()
    goOn()
    await cut
    const { code, stdout, stderr } = await minted
    expect({ code, stdout }).toEqual({ code: 6, stdout: '' })
    expect(stderr).toContain(`The password of ${WEB} may have been replaced. Mint again`)
    expect((await secret()).data.password).not.toBe(before.data.password)
    expect(between.calls().filter(isWrite)).toHaveLength(writes + 1)
    const again = printed(await as('jane')('mint', WEB, ...IN, '-o', 'password')).trim()
    expect(await isStored(again)).toBe(true)
  })

  test('it has ended: not reached (7), before and after kube-apiserver knows', async () => {
    await aggregated.entry.stop()
    await wire.stop()
    const before = await secret()
    const expected = {
      code: 7,
      stdout: '',
      stderr: [
        'error: kube-apiserver did not reach the function; nothing was changed\n',
        `kubectl get apiservice v1alpha1.${GROUP} says more; --group names another API group.\n`,
      ].join(''),
    }
    expect(await as('jane')('mint', WEB, ...IN)).toEqual(expected)
    const wait = ['wait', '--for=condition=Available=False', '--timeout=60s', `apiservice/v1alpha1.${GROUP}`]
    expect(await aggregated.plane.kubectl(wait)).toMatchObject({ code: 0 })
    for (const verb of ['mint', 'revoke']) expect(await as('jane')(verb, WEB, ...IN)).toEqual(expected)
    expect(await secret()).toEqual(before)
  })
})
