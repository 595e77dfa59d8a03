import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '../../src/config.ts'
import { DEFAULT_NAMES } from '../../src/trust-anchor/names.ts'
import { SOURCE } from '../contract/anchoring.ts'
import { applyForeignCrds } from '../control-plane/crds.ts'
import { readPage } from '../docs/blocks.ts'
import { type Anchored, encoded, projectionsIn, secretsIn, startAnchored } from './anchored.ts'
import { type Followed, follow } from './follow.ts'
import { read, succeed } from './stand-ins.ts'

const NAMESPACE = 'tenant-acme'
const IN = ['-n', 'mintonce']

let anchored: Anchored
let page: Followed

/** A tenant with an engine, whose chart has declared the CA as the page shows it. */
beforeAll(async () => {
  anchored = await startAnchored()
  const { plane, admin, ca } = anchored
  await applyForeignCrds(plane)
  page = await follow('docs/trust-anchor.md', plane)
  // As docs/install-knative.md has made it.
  const installed = join(page.folder, 'overlay/knative')
  await mkdir(installed, { recursive: true })
  await writeFile(join(installed, 'kustomization.yaml'), JSON.stringify({ resources: ['../../knative'] }))
  await admin.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: NAMESPACE },
  })
  const [declaration = ''] = (await readPage('docs/trust-anchor.md')).blocks('declaration')
  await admin.create(projectionsIn(NAMESPACE), parse(declaration))
  await admin.create(secretsIn(NAMESPACE), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: SOURCE },
    data: encoded({ 'ca.crt': ca.certificate, 'ca.key': ca.key }),
  })
})

afterAll(async () => {
  await page?.remove()
  await anchored?.stop()
})

/** What a pod of the function would publish, by the settings in its manifest. */
async function published() {
  const { spec } = (await read(anchored.plane, 'services.serving.knative.dev/mintonce', ...IN)).spec.template
  const env: readonly { readonly name: string; readonly value: string }[] = spec.containers[0].env
  return (await readConfig(Object.fromEntries(env.map(({ name, value }) => [name, value])))).anchors
}

test('Switch it on: the function publishes, and its source tells it of declarations', async () => {
  await page.run('Switch it on')
  expect(await published()).toEqual({ labels: false, names: new Map() })
  const source = await read(anchored.plane, 'apiserversource/mintonce-releases', ...IN)
  expect(source.spec.mode).toBe('Reference')
  const kinds = source.spec.resources.map(({ kind }: { readonly kind: string }) => kind)
  expect(kinds).toEqual(['HelmRelease', 'TenantProjection'])
})

test('The names that operators use: the table that is built in', async () => {
  await page.run('The names that operators use')
  expect(await published()).toEqual({ labels: false, names: DEFAULT_NAMES })
})

test('Have it looked at now: the answer has the reason', async () => {
  const { status, message, details } = JSON.parse(await page.run('Have it looked at now'))
  expect(status).toBe('Success')
  expect(message).toBe(
    'Projected: 1 certificate of Secret postgres-orders-ca published as Secret postgres-orders.tenant-ca',
  )
  expect(details.causes[0].reason).toBe('Projected')
})

test("Beside Cozystack's own controller: it is seen who has written a status", async () => {
  const printed = await page.run("Beside Cozystack's own controller")
  expect(printed).toMatch(/^NAMESPACE +NAME +STATUS-BY\ntenant-acme +postgres-orders-ca +mintonce\n$/)
})

test('For the tenant: the file has the certificate, to the byte, and nothing else', async () => {
  await page.run('For the tenant')
  expect(await readFile(join(page.folder, 'ca.crt'), 'utf8')).toBe(anchored.ca.certificate)
})

test('Why it is not published: reasons, messages and Events are found', async () => {
  const { admin, ca } = anchored
  await admin.change(`${secretsIn(NAMESPACE)}/${SOURCE}`, (secret) => {
    secret.data = encoded({ 'ca.crt': ca.certificate + ca.key })
  })
  await page.run('Have it looked at now')
  // Events are written after the answer.
  await expect
    .poll(() => page.run('Why it is not published'), { timeout: 30_000, interval: 500 })
    .toMatch(/Warning +CACertPrivateKeyRefused +secret\/postgres-orders-ca/)
  const printed = await page.run('Why it is not published')
  expect(printed).toMatch(/^NAMESPACE +NAME +READY +AGE\ntenant-acme +postgres-orders-ca +False/)
  expect(printed).toMatch(/^tenant-acme +postgres-orders-ca +SourceRejected +key ca\.crt of Secret/m)
  for (const line of ca.key.split('\n').filter((part) => part !== '')) expect(printed).not.toContain(line)
})

test('Switch it off: no right of it is left, nor a setting, and what was published is shown and gone', async () => {
  const { plane } = anchored
  const rights = () => succeed(plane, ['get', 'clusterroles,clusterrolebindings', '-o', 'name'])
  // As knative/eventing/trust-anchor-secrets has it, which the page leaves to who needs it.
  const secrets = join(page.folder, 'knative/eventing/trust-anchor-secrets/rbac.yaml')
  await succeed(plane, ['apply', '--server-side', '-f', secrets])
  expect(await rights()).toMatch(/mintonce:events-trust-anchor-secrets/)
  const printed = await page.run('Switch it off')
  expect(printed).toMatch(/^tenant-acme +postgres-orders\.tenant-ca +Opaque +1 /m)
  expect(await published()).toBeUndefined()
  const source = await read(plane, 'apiserversource/mintonce-releases', ...IN)
  expect(source.spec.resources).toMatchObject([{ kind: 'HelmRelease' }])
  expect(await rights()).toMatch(/mintonce:events\n/)
  expect(await rights()).not.toMatch(/trust-anchor/)
  const left = ['get', 'secret', 'postgres-orders.tenant-ca', '-n', NAMESPACE, '--ignore-not-found']
  expect(await succeed(plane, left)).toBe('')
  await succeed(plane, ['delete', 'tproj', '--all', '-n', NAMESPACE])
})

test('nothing of the page is left', () => {
  expect(page.left()).toEqual([])
})
