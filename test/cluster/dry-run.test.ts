import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Anything } from '../contract/kube.ts'
import { applyForeignCrds } from '../control-plane/crds.ts'
import { type ControlPlane, startControlPlane } from '../control-plane/start.ts'
import { build, buildOverlay, forgottenFiles, objectsIn, shippedFiles, shippedFolders } from './shipped.ts'

const DRY_RUN = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-']

const folders = await shippedFolders()

let plane: ControlPlane

beforeAll(async () => {
  plane = await startControlPlane()
  await applyForeignCrds(plane)
  // Nothing can be tried in a namespace that is not there.
  const texts = await Promise.all(folders.map((folder) => build(folder, plane)))
  await plane.apply(texts.flatMap(objectsIn).filter(({ kind }) => kind === 'Namespace'))
})

afterAll(() => plane?.stop())

test('every manifest is part of a kustomization', async () => {
  expect(await shippedFiles()).toEqual(
    expect.arrayContaining(['deploy/apiserver/deployment.yaml', 'knative/service.yaml']),
  )
  expect(await forgottenFiles()).toEqual([])
})

test.each(folders)(
  '%s: the API server accepts everything in a dry run, without a warning',
  async (folder) => {
    const text = await build(folder, plane)
    const { code, stdout, stderr } = await plane.kubectl(DRY_RUN, text)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const applied = stdout.trim().split('\n')
    expect(applied).toHaveLength(objectsIn(text).length)
    for (const line of applied) expect(line).toMatch(/ serverside-applied \(server dry run\)$/)
  },
)

test.each([
  ['knative', 'serving.knative.dev/v1', 'containerConcurrency: 50', 'containerConcurrencies: 50'],
  ['deploy/apiserver', 'cert-manager.io/v1', 'isCA: true', 'isCa: true'],
  ['deploy/apiserver', 'apps/v1', 'matchLabelKeys:', 'matchLabelsKeys:'],
  ['deploy/flux', 'notification.toolkit.fluxcd.io/v1beta3', 'matchLabels:', 'matchLabel:'],
])('a field of %s that %s does not have would be noticed', async (folder, _version, right, wrong) => {
  const text = await build(folder, plane)
  expect(text).toContain(right)
  const { code, stderr } = await plane.kubectl(DRY_RUN, text.replace(right, wrong))
  expect(code).toBe(1)
  expect(stderr).toMatch(/unknown field|field not declared in schema/)
})

test.each(['knative', 'deploy/apiserver'])('%s: one line of an overlay names the image', async (folder) => {
  // Of every container: the function itself, and its sweep where there is one.
  const imagesIn = (text: string) => [
    ...new Set([...text.matchAll(/ image: (.*)/g)].map(([, image]) => image)),
  ]
  const { version } = JSON.parse(await readFile(join(import.meta.dirname, '../../package.json'), 'utf8'))
  expect(imagesIn(await build(folder, plane))).toEqual([`ghcr.io/mintonce/mintonce:${version}`])
  const images = [
    { name: 'ghcr.io/mintonce/mintonce', newName: 'registry.example.org/mintonce', newTag: 'tried' },
  ]
  const overlaid = await buildOverlay({ resources: [folder], images }, plane)
  expect(imagesIn(overlaid)).toEqual(['registry.example.org/mintonce:tried'])
})

describe('publishing CAs', () => {
  const EVENTING = ['knative/eventing', 'deploy/trust-anchor', 'knative/eventing/trust-anchor']
  const kindsOf = (text: string, kind: string) => objectsIn(text).filter((each) => each.kind === kind)
  const isOn = /- name: MINTONCE_TRUST_ANCHORS\n +value: "on"\n/g

  test.each([
    ['knative', 1],
    // The function, and the CronJob that walks all declarations.
    ['deploy/apiserver', 2],
  ])('is switched on by a component on %s, and off without it', async (folder, containers) => {
    const text = await buildOverlay({ resources: [folder], components: ['deploy/trust-anchor'] }, plane)
    expect(text.match(/ image: /g)).toHaveLength(containers)
    expect(text.match(isOn)).toHaveLength(containers)
    const { code, stderr } = await plane.kubectl(DRY_RUN, text)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await build(folder, plane)).not.toMatch(/TRUST_ANCHOR|tenantprojections/)
  })

  test.each([
    [EVENTING, ['HelmRelease', 'TenantProjection']],
    [
      [...EVENTING, 'knative/eventing/trust-anchor-secrets'],
      ['HelmRelease', 'TenantProjection', 'Secret'],
    ],
  ])('is told of changes by a source with %j', async (components, kinds) => {
    const text = await buildOverlay({ resources: ['knative'], components }, plane)
    const { code, stderr } = await plane.kubectl(DRY_RUN, text)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [source] = kindsOf(text, 'ApiServerSource') as readonly { readonly spec: Anything }[]
    expect(source?.spec.mode).toBe('Reference')
    expect(source?.spec.resources.map(({ kind }: Anything) => kind)).toEqual(kinds)
  })

  test('is not told of Secrets by a source that sends whole objects', async () => {
    const secrets = 'knative/eventing/trust-anchor-secrets'
    const patches = [
      {
        target: { kind: 'ApiServerSource' },
        patch: JSON.stringify([{ op: 'replace', path: '/spec/mode', value: 'Resource' }]),
      },
    ]
    const whole = await buildOverlay({ resources: ['knative'], components: EVENTING, patches }, plane)
    expect(whole).toContain('mode: Resource')
    await expect(applyComponent(whole, secrets)).rejects.toThrow('test failed')
  })
})

/** What a component makes of objects that are there already. Throws what kustomize complains about. */
async function applyComponent(text: string, component: string): Promise<string> {
  return buildOverlay(
    { resources: ['objects.yaml'], components: [component], files: { 'objects.yaml': text } },
    plane,
  )
}
