import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { decode } from '../contract/kube.ts'
import { type ControlPlane, startControlPlane } from '../control-plane/start.ts'
import { type Followed, follow } from './follow.ts'
import { applyPlatform } from './platform.ts'
import { read, succeed } from './stand-ins.ts'

const IN = ['-n', 'mintonce']
const WEBHOOKS = 'validatingwebhookconfigurations,mutatingwebhookconfigurations'
const SOURCES = ['apiserversource/mintonce-releases', 'pingsource/mintonce-tick']

let plane: ControlPlane
let page: Followed

beforeAll(async () => {
  plane = await startControlPlane()
  await applyPlatform(plane)
  page = await follow('docs/keeping-in-step.md', plane)
  // As docs/install-knative.md has made it.
  const installed = join(page.folder, 'overlay/knative')
  await mkdir(installed, { recursive: true })
  await writeFile(join(installed, 'kustomization.yaml'), JSON.stringify({ resources: ['../../knative'] }))
  await succeed(plane, ['apply', '--server-side', '-k', installed])
})

afterAll(async () => {
  await page?.remove()
  await plane?.stop()
})

interface Variable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } }
}

/** The settings that a pod of the function would have: its manifest's, and what that takes from Secrets. */
async function settings() {
  const { spec } = (await read(plane, 'services.serving.knative.dev/mintonce', ...IN)).spec.template
  const env: readonly Variable[] = spec.containers[0].env
  const entries = env.map(async ({ name, value, valueFrom }) => [name, value ?? (await secretAt(valueFrom))])
  return readConfig(Object.fromEntries(await Promise.all(entries)))
}

async function secretAt(from: Variable['valueFrom']): Promise<string> {
  const { data } = await read(plane, `secret/${from?.secretKeyRef.name}`, ...IN)
  return decode(data[from?.secretKeyRef.key ?? ''])
}

test('Knative Eventing: sources that prove who they are by a token, and a function that lets them in', async () => {
  await page.run('Knative Eventing')
  const { eventSenders, fluxKeys } = await settings()
  expect({ eventSenders, fluxKeys }).toEqual({
    eventSenders: {
      keys: [],
      oidc: { audience: 'mintonce-events', usernames: [expect.any(String), expect.any(String)] },
    },
    fluxKeys: [],
  })
  for (const source of SOURCES) {
    const { spec } = await read(plane, source, ...IN)
    expect(spec.sink.audience, source).toBe('mintonce-events')
    expect(spec.ceOverrides, source).toBeUndefined()
  }
})

test('Knative Eventing: whoever watches sees HelmReleases and no Secrets', async () => {
  const { spec } = await read(plane, 'apiserversource/mintonce-releases', ...IN)
  const who = `system:serviceaccount:mintonce:${spec.serviceAccountName}`
  const may = async (verb: string, resource: string) =>
    (await plane.kubectl(['auth', 'can-i', verb, resource, '--as', who, '--all-namespaces'])).stdout.trim()
  for (const verb of ['get', 'list', 'watch']) expect(await may(verb, 'helmreleases'), verb).toBe('yes')
  expect(await may('get', 'secrets')).toBe('no')
  expect(await may('update', 'helmreleases')).toBe('no')
})

test('without the feature: sources have the key that the function knows', async () => {
  await page.run('Without the feature: a key')
  const { eventSenders } = await settings()
  const [key = ''] = eventSenders.keys
  expect(key).toMatch(/^[0-9a-f]{64}$/)
  for (const source of SOURCES) {
    const { spec } = await read(plane, source, ...IN)
    expect(spec.ceOverrides, source).toEqual({ extensions: { mintoncekey: key } })
  }
})

test('Flux: the Provider signs with the key that the function knows, for the namespaces that are named', async () => {
  await page.run('Flux')
  const { fluxKeys } = await settings()
  const { spec } = await read(plane, 'providers.notification.toolkit.fluxcd.io/mintonce', ...IN)
  expect(spec.type).toBe('generic-hmac')
  expect(fluxKeys).toEqual([await secretAt({ secretKeyRef: { name: spec.secretRef.name, key: 'token' } })])
  const alert = await read(plane, 'alerts.notification.toolkit.fluxcd.io/mintonce', ...IN)
  expect(alert.spec.providerRef.name).toBe('mintonce')
  const namespaces = alert.spec.eventSources.map(({ namespace }: { readonly namespace: string }) => namespace)
  expect(namespaces).toEqual(['tenant-root', 'tenant-acme'])
})

test('what is waiting to be deleted, and what was said, can be looked at', async () => {
  const secret = ['create', 'secret', 'generic', 'postgres-orders.web.account', '-n', 'tenant-acme']
  await succeed(plane, secret)
  const marks = {
    labels: { 'credentials.cozystack.io/account': 'true' },
    annotations: { 'credentials.cozystack.io/undeclared-since': '2026-10-02T09:14:07Z' },
  }
  const patch = ['--type=merge', '--patch', JSON.stringify({ metadata: marks })]
  await succeed(plane, ['patch', 'secret', 'postgres-orders.web.account', '-n', 'tenant-acme', ...patch])
  expect(await page.run('An account goes')).toMatch(
    /^tenant-acme +postgres-orders\.web\.account +2026-10-02T09:14:07Z$/m,
  )
})

test('Events: those of the function are found, and no others', async () => {
  await plane.apply([
    eventBy('credentials.cozystack.io/mintonce', 'ours'),
    eventBy('somebody.example.org/else', 'theirs'),
  ])
  const shown = await page.run('Events')
  expect(shown).toContain('ours')
  expect(shown).not.toContain('theirs')
})

const eventBy = (reportingController: string, note: string) => ({
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name: note, namespace: 'tenant-acme' },
  eventTime: '2026-10-02T09:14:07.000000Z',
  reportingController,
  reportingInstance: 'test',
  type: 'Warning',
  reason: 'AccountSecretMissing',
  action: 'Sync',
  note,
  regarding: { kind: 'HelmRelease', namespace: 'tenant-acme', name: 'postgres-orders' },
})

test('webhook configurations go, and then the sources', async () => {
  await succeed(plane, ['apply', '--server-side', '-f', join(page.folder, 'deploy/apiserver/webhooks.yaml')])
  await page.run('When it is down')
  expect((await read(plane, WEBHOOKS)).items).toEqual([])
  await page.run('Uninstalling')
  const { items } = await read(plane, 'apiserversources,pingsources,alerts,providers', ...IN)
  expect(items).toEqual([])
})

test('all of it was run', () => {
  expect(page.left()).toEqual([])
})
