import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Anything, decode } from '../contract/kube.ts'
import { accepts } from '../contract/verify.ts'
import { freePorts } from '../control-plane/ports.ts'
import { type ControlPlane, startControlPlane } from '../control-plane/start.ts'
import type { RunningEntry } from '../helpers/entry.ts'
import { eventually } from './eventually.ts'
import { type Followed, follow } from './follow.ts'
import { applyPlatform } from './platform.ts'
import { API_SERVICE, edit, issueCertificate, onLoopback, read, startPod, succeed } from './stand-ins.ts'

const SECRET = ['secret', 'postgres-orders.web.account', '-n', 'tenant-acme']

/** The passwords that calls have shown, in order. */
const passwordsIn = (output: string): readonly string[] =>
  [...output.matchAll(/"password":"(\w{32})"/g)].map(([, password = '']) => password)

async function storedVerifier(plane: ControlPlane): Promise<string> {
  const { data } = await read(plane, ...SECRET)
  return decode(data.password)
}

async function blockOfPostgres(plane: ControlPlane): Promise<object | undefined> {
  return (await read(plane, 'applicationdefinition', 'postgres')).spec.credentials
}

/** Nobody may anything in the tenant's namespace: whoever may afterwards is allowed to by the page. */
const unbind = (plane: ControlPlane) =>
  succeed(plane, ['delete', 'rolebindings', '--all', '-n', 'tenant-acme'])

describe('docs/install-apiservice.md', () => {
  let plane: ControlPlane
  let page: Followed
  let port: number
  let entry: RunningEntry | undefined

  beforeAll(async () => {
    plane = await startControlPlane()
    await applyPlatform(plane)
    await unbind(plane)
    page = await follow('docs/install-apiservice.md', plane)
    ;[port = 0] = await freePorts(1)
    await onLoopback(page.folder, port)
  })
  afterAll(async () => {
    await entry?.stop()
    await page?.remove()
    await plane?.stop()
  })

  test('1. the names of the front proxy are printed', async () => {
    const printed = await page.run('1. What you need')
    expect(printed).toMatch(/^certificates\.cert-manager\.io .*\n.*^issuers\.cert-manager\.io /ms)
    const names: unknown = JSON.parse(printed.trim().split('\n').at(-1) ?? '')
    expect(names).toEqual([expect.stringMatching(/./)])
  })

  test('4. the overlay names the image', async () => {
    await page.run('4. An overlay that names it')
  })

  test('5. definitions keep the block from then on', async () => {
    const explained = await page.run('5. The field in ApplicationDefinitions')
    expect(explained).toMatch(/^FIELDS:\n {2}accounts\t<\[\]Object> -required-/m)
  })

  test('6. the APIService becomes available', async () => {
    await page.run('6. Install', 'cluster')
    const { spec } = await read(plane, 'deployment/mintonce-apiserver', '-n', 'mintonce')
    expect(spec.template.spec.containers[0].image).toBe('registry.example.org/mintonce:0.1.0')
    const tls = await issueCertificate(plane)
    entry = await startPod(plane, 'deployment/mintonce-apiserver', { port, tls })
    await page.run('6. Install', 'served')
    // kube-apiserver takes the group into its own discovery a moment after it is available.
    await eventually('the resource is listed', async () =>
      /^credentials +credentials\.cozystack\.io\/v1alpha1 +true +Credential$/m.test(
        await page.run('6. Install', 'served'),
      ),
    )
    const { status } = await read(plane, API_SERVICE)
    expect(status.conditions).toMatchObject([{ type: 'Available', status: 'True', reason: 'Passed' }])
  })

  test('7. the kind has accounts', async () => {
    await page.run('7. Which accounts a kind has')
    expect(await blockOfPostgres(plane)).toMatchObject({ secretLabels: { 'cnpg.io/reload': 'true' } })
  })

  test('8. the pipeline may', async () => {
    expect(await page.run('8. Who may')).toMatch(/^yes$/m)
  })

  test('9. passwords are minted by kubectl and by curl, and the newest one counts', async () => {
    const output = await page.run('9. The first password')
    const [first = '', second = '', ...more] = passwordsIn(output)
    expect(more).toEqual([])
    const verifier = await storedVerifier(plane)
    expect([accepts(verifier, first), accepts(verifier, second)]).toEqual([false, true])
    expect(output).toMatch(/^postgres-orders\.web +orders +web +Minted /m)
    const { status } = await read(plane, 'credential', 'postgres-orders.web', '-n', 'tenant-acme')
    const who = (status.history as readonly { readonly by: string }[]).map(({ by }) => by)
    expect(who.toSorted()).toEqual(['admin', 'system:serviceaccount:tenant-acme:pipeline'])
    for (const password of [first, second]) expect(entry?.output()).not.toContain(password)
  })

  test('the plug-ins of README.md mint and revoke: psql is given what is stored at that time', async () => {
    const psql = `psql() { printf 'psql %s with %s\\n' "$*" "$PGPASSWORD"; stored; }
      stored() { kubectl get ${SECRET.join(' ')} -o 'jsonpath={.data.password}' | base64 -d; echo; }\n`
    const readme = await follow('README.md', plane, (block) => psql + block.replace('npm ci && ', ''))
    try {
      const output = await readme.run('From kubectl', 'served')
      const [, password = '', verifier = ''] =
        /^psql -h orders-rw -U web orders with (\w{32})\n(.*)$/m.exec(output) ?? []
      expect(accepts(verifier, password)).toBe(true)
      const [, inUri = ''] = /^postgresql:\/\/web:(\w{32})@orders-rw:5432\/orders$/m.exec(output) ?? []
      expect(inUri).not.toBe('')
      expect(accepts(await storedVerifier(plane), inUri)).toBe(false)
    } finally {
      await readme.remove()
    }
    const { status } = await read(plane, 'credential', 'postgres-orders.web', '-n', 'tenant-acme')
    expect(status.history[0].operation).toBe('Revoke')
  })

  test('all of it was run', () => {
    expect(page.left()).toEqual([])
  })
})

describe('docs/install-knative.md', () => {
  const HOST = 'http://mintonce.mintonce.svc.cluster.local'
  let plane: ControlPlane
  let page: Followed
  let port: number
  let entry: RunningEntry | undefined

  beforeAll(async () => {
    plane = await startControlPlane()
    await applyPlatform(plane)
    await unbind(plane)
    ;[port = 0] = await freePorts(1)
    page = await follow('docs/install-knative.md', plane, (block) =>
      block.replaceAll(HOST, `http://127.0.0.1:${port}`),
    )
  })
  afterAll(async () => {
    await entry?.stop()
    await page?.remove()
    await plane?.stop()
  })

  test('3. and 4. the overlay names the image, and definitions keep the block', async () => {
    await page.run('3. The image, and an overlay that names it')
    const explained = await page.run('4. The field in ApplicationDefinitions')
    expect(explained).toMatch(/^FIELDS:\n {2}accounts\t<\[\]Object> -required-/m)
  })

  test('5. the Service is there, and the policy that holds it', async () => {
    expect(await page.run('5. Install')).toMatch(/^mintonce-secrets +mintonce-secrets /m)
    const { spec } = await read(plane, 'ksvc/mintonce', '-n', 'mintonce')
    expect(spec.template.spec.containers[0].image).toBe('registry.example.org/mintonce:0.1.0')
  })

  test('6. and 7. the kind has accounts, and the pipeline may', async () => {
    await page.run('6. Which accounts a kind has')
    expect(await blockOfPostgres(plane)).toMatchObject({ secretLabels: { 'cnpg.io/reload': 'true' } })
    expect(await page.run('7. Who may')).toMatch(/^true$/m)
  })

  test('8. a password is minted, and fits what is stored', async () => {
    entry = await startPod(plane, 'ksvc/mintonce', { port })
    const output = await page.run('8. The first password')
    const [password = '', ...more] = passwordsIn(output)
    expect(more).toEqual([])
    expect(accepts(await storedVerifier(plane), password)).toBe(true)
    expect(output).toContain('"by":"system:serviceaccount:tenant-acme:pipeline"')
    expect(entry.output()).not.toContain(password)
  })

  test.each([
    // The other one is run with the page about the APIService.
    ['README.md', 'Calling it', ['From kubectl']],
    ['docs/worker.md', 'Miniflare, on a kubeconfig', []],
  ])('the token of %s is one that the function takes', async (path, heading, left) => {
    const called = `curl -sS --fail-with-body -H "Authorization: Bearer $TOKEN" ${HOST}/apis/core.cozystack.io/v1alpha1/namespaces/tenant-acme/credentials`
    const other = await follow(
      path,
      plane,
      (block) => `${block}\n${called.replace(HOST, `http://127.0.0.1:${port}`)}`,
    )
    try {
      expect(await other.run(heading)).toContain('"kind":"CredentialList"')
      expect(other.left()).toEqual(left)
    } finally {
      await other.remove()
    }
  })

  test('all of it was run', () => {
    expect(page.left()).toEqual([])
  })

  test('and nothing of it needed the other way', async () => {
    const { items } = await read(plane, 'deployments', '-n', 'mintonce')
    expect(items).toEqual([])
    expect(await succeed(plane, ['get', API_SERVICE, '--ignore-not-found'])).toBe('')
  })
})

describe('docs/upgrade-and-uninstall.md', () => {
  const IN = ['-n', 'mintonce']
  const BOTH = ['deploy/apiserver', 'knative']
  const TAG = 'deploy/image/kustomization.yaml'
  let plane: ControlPlane
  let page: Followed
  let port: number
  let entry: RunningEntry | undefined
  let before: readonly string[]

  const install = async () => {
    for (const folder of BOTH) {
      await succeed(plane, ['apply', '--server-side', '-k', join(page.folder, folder)])
    }
    await issueCertificate(plane)
  }
  /** What docs/trust-anchor.md leaves of an overlay that nobody has any more, with somebody who may have CAs looked at. */
  const publishCas = async () => {
    for (const folder of ['deploy/trust-anchor', 'knative/eventing/trust-anchor-secrets']) {
      await succeed(plane, ['apply', '--server-side', '-f', join(page.folder, folder, 'rbac.yaml')])
    }
    const may = ['--clusterrole=mintonce:trust-anchors-sync', '--group=platform']
    await succeed(plane, ['create', 'clusterrolebinding', 'platform', ...may])
    const CA = ['postgres-orders.tenant-ca', '-n', 'tenant-acme']
    await succeed(plane, ['create', 'secret', 'generic', ...CA, '--from-literal=ca.crt=x'])
    await succeed(plane, ['label', 'secret', ...CA, 'internal.cozystack.io/ca-cert-copy=true'])
  }
  const serve = async () => {
    const tls = await plane.serverCertificateFor(['mintonce-apiserver.mintonce.svc'])
    const settings = { MINTONCE_DEFINITIONS_MAX_AGE_SECONDS: '0' }
    entry = await startPod(plane, 'deployment/mintonce-apiserver', { port, tls, settings })
    await succeed(plane, ['wait', '--for=condition=Available', '--timeout=60s', API_SERVICE])
  }
  const imageOf = async (owner: string): Promise<string> =>
    (await read(plane, owner, ...IN)).spec.template.spec.containers[0].image
  const mint = () =>
    plane.kubectl(
      [
        'create',
        '--raw',
        '/apis/credentials.cozystack.io/v1alpha1/namespaces/tenant-acme/credentials/postgres-orders.web/mint',
        '-f',
        '-',
      ],
      '{}',
    )

  beforeAll(async () => {
    plane = await startControlPlane()
    await applyPlatform(plane)
    before = await everything(plane)
    page = await follow('docs/upgrade-and-uninstall.md', plane)
    ;[port = 0] = await freePorts(1)
    await onLoopback(page.folder, port)
    await install()
  })
  afterAll(async () => {
    await entry?.stop()
    await page?.remove()
    await plane?.stop()
  })

  test('AGG-06: a namespace stays while nobody answers, and the page says how to see why', async () => {
    await succeed(plane, ['create', 'namespace', 'leaving'])
    await eventually('the APIService is not available', async () => {
      const { status } = await read(plane, API_SERVICE)
      return status?.conditions?.[0]?.status === 'False'
    })
    await succeed(plane, ['delete', 'namespace', 'leaving', '--wait=false'])
    let seen = ''
    await eventually('its condition says why', async () => {
      seen = await page.run('A namespace that stays `Terminating`')
      return /^leaving\t.*credentials\.cozystack\.io\/v1alpha1/m.test(seen)
    })
    expect(seen).toMatch(/^v1alpha1\.credentials\.cozystack\.io$/m)
    await serve()
    await succeed(plane, ['wait', '--for=delete', 'namespace/leaving', '--timeout=60s'])
  })

  test('upgrading: the diff shows the new image, and then it is there', async () => {
    await edit(join(page.folder, TAG), '\n    newTag: 0.1.0\n', '\n    newTag: 0.2.0\n')
    const output = await page.run('Upgrading', 'cluster')
    expect(output).toContain(
      '-        image: ghcr.io/mintonce/mintonce:0.1.0\n+        image: ghcr.io/mintonce/mintonce:0.2.0\n',
    )
    expect(output).toMatch(/applicationdefinitions\.cozystack\.io patched/)
    expect(await imageOf('deployment/mintonce-apiserver')).toBe('ghcr.io/mintonce/mintonce:0.2.0')
    expect((await read(plane, API_SERVICE)).spec.caBundle).toBeDefined()
  })

  test('upgrading: whether a mint would work is seen without one', async () => {
    const block = { kind: 'BuiltIn', name: 'scram-sha-256' }
    const accounts = [{ kind: 'ValuesMap', path: 'users' }]
    const spec = { credentials: { format: block, accounts } }
    await succeed(plane, [
      'patch',
      'applicationdefinition',
      'postgres',
      '--type=merge',
      '-p',
      JSON.stringify({ spec }),
    ])
    const output = await page.run('Upgrading', 'served')
    expect(output).toContain('"kind":"CredentialRequest"')
    expect(passwordsIn(output)).toEqual([])
    expect(await succeed(plane, ['get', ...SECRET, '--ignore-not-found'])).toBe('')
    expect(await mint()).toMatchObject({ code: 0 })
  })

  test('rolling back: the old image, and the old revision', async () => {
    await eventually('both images have been', async () => {
      const { items } = await read(plane, 'replicasets', ...IN)
      return items.length === 2
    })
    await page.run('Rolling back')
    expect(await imageOf('deployment/mintonce-apiserver')).toBe('ghcr.io/mintonce/mintonce:0.1.0')
    const { spec } = await read(plane, 'ksvc/mintonce', ...IN)
    expect(spec.traffic).toEqual([{ revisionName: 'mintonce-00001', percent: 100 }])
  })

  test('certificates: those that are in doubt are gone, and pods are started again', async () => {
    await page.run('Certificates')
    expect(await succeed(plane, ['get', 'secrets', ...IN, '-o', 'name'])).toBe('')
    const { spec } = await read(plane, 'deployment/mintonce-apiserver', ...IN)
    expect(spec.template.metadata.annotations).toHaveProperty(['kubectl.kubernetes.io/restartedAt'])
  })

  test('from one group to the other: what both share stays', async () => {
    await page.run('From one group to the other')
    const left = await ours(plane, before)
    expect(left.filter((name) => /apiserver|self-signed|knative/i.test(name))).toEqual([])
    expect(left).toEqual(
      expect.arrayContaining([
        'Namespace mintonce',
        'ServiceAccount mintonce/mintonce',
        'ClusterRole mintonce',
        'ClusterRole mintonce:mint',
        'ValidatingAdmissionPolicyBinding mintonce-secrets',
        'RoleBinding kube-system/mintonce:request-header-reader',
      ]),
    )
  })

  test('uninstalling: what the page says stays, and nothing else', async () => {
    await install()
    await publishCas()
    const verifier = await storedVerifier(plane)
    const output = await page.run('Uninstalling')
    expect(output).toMatch(/^tenant-acme\ttenant-acme-admin$/m)
    expect(output).toMatch(/^\tplatform$/m)
    expect(output).toMatch(/^tenant-acme +postgres-orders\.web\.account /m)
    expect(output).toMatch(/^tenant-acme +postgres-orders\.tenant-ca /m)
    expect((await ours(plane, before)).toSorted()).toEqual([
      'ClusterRoleBinding platform',
      'Secret tenant-acme/postgres-orders.tenant-ca',
      'Secret tenant-acme/postgres-orders.web.account',
    ])
    expect(await storedVerifier(plane)).toBe(verifier)
    expect(await blockOfPostgres(plane)).toBeDefined()
  })

  test('uninstalling: namespaces go at once', async () => {
    await succeed(plane, ['create', 'namespace', 'leaving'])
    await succeed(plane, ['delete', 'namespace', 'leaving', '--timeout=20s'])
  })

  test('the CRD patch: the blocks are saved, and then gone', async () => {
    await page.run('The CRD patch')
    const { items } = JSON.parse(
      await readFile(join(page.folder, 'overlay/applicationdefinitions.json'), 'utf8'),
    )
    const saved = items.find(({ metadata }: Anything) => metadata.name === 'postgres')
    expect(saved.spec.credentials.format).toEqual({ kind: 'BuiltIn', name: 'scram-sha-256' })
    await eventually(
      'the block is not served any more',
      async () => (await blockOfPostgres(plane)) === undefined,
    )
  })

  test('all of it was run', () => {
    expect(page.left()).toEqual([])
  })
})

/** What others make of their own accord, and for a time only. */
const COMINGS_AND_GOINGS = /^(Event|Lease|PodMetrics|NodeMetrics|ComponentStatus) /

/** Every object of the cluster, as `Kind namespace/name`. */
async function everything(plane: ControlPlane): Promise<readonly string[]> {
  const kinds = await succeed(plane, ['api-resources', '--verbs=list', '-o', 'name'])
  const { items } = await read(plane, kinds.trim().split('\n').join(','), '--all-namespaces')
  return (items as readonly Anything[])
    .map(
      ({ kind, metadata: { namespace, name } }) =>
        `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`,
    )
    .filter((name) => !COMINGS_AND_GOINGS.test(name))
}

/** What is there now, and was not before we came. */
async function ours(plane: ControlPlane, before: readonly string[]): Promise<readonly string[]> {
  const known = new Set(before)
  return (await everything(plane)).filter((name) => !known.has(name))
}
