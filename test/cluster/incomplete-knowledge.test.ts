import { randomBytes, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Fetch } from '../../src/core/deps.ts'
import { sweep } from '../../src/credentials/sweep.ts'
import { exampleDefinitions } from '../contract/backends/manifests.ts'
import { type RealApiServer, startRealApiServer } from '../contract/backends/real-api-server.ts'
import { type Admin, type Anything, adminOf } from '../contract/kube.ts'
import { withFaults } from '../helpers/faults.ts'
import { BY, GRACE_MS, syncServicesOver, TENANT } from '../helpers/sync-cluster.ts'
import { aboutToDelete, type Place, placeOn, RELEASE, RELEASES, SECRETS } from '../helpers/sync-place.ts'
import { eventually } from './eventually.ts'
import { succeed } from './stand-ins.ts'

/** What a real API server answers when something is missing, and that nothing is deleted for it. */

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const DEFINITION_CRD = 'applicationdefinitions.cozystack.io'
const DEFINITIONS = '/apis/cozystack.io/v1alpha1/applicationdefinitions'
const BLOCK = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/credentials'
const CRD_FILE = join(import.meta.dirname, '../control-plane/crd-applicationdefinition.yaml')
const PATCH_FILE = join(import.meta.dirname, '../../deploy/crd/applicationdefinition-credentials.patch.yaml')

let api: RealApiServer
let admin: Admin
let place: Place
/** What happens before the next page of a list is asked for; pages hold one object then. */
let betweenPages: ((path: string) => Promise<void>) | undefined

beforeAll(async () => {
  // Without what an API server keeps of past revisions for some seconds after etcd has forgotten them.
  api = await startRealApiServer({ apiServerFlags: ['--feature-gates=ListFromCacheSnapshot=false'] })
  admin = adminOf(api.admin)
  await admin.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: TENANT },
  })
})
afterAll(() => api?.stop())

const inSmallPages: Fetch = async (request) => {
  const url = new URL(request.url)
  if (betweenPages === undefined || !url.searchParams.has('limit')) return api.asFunction(request)
  url.searchParams.set('limit', '1')
  if (url.searchParams.has('continue')) await betweenPages(url.pathname)
  return api.asFunction(new Request(url, request))
}

/** An account whose time is over, and the seed of a create that failed: a sweep deletes both, as soon as it knows enough. */
beforeEach(async () => {
  betweenPages = undefined
  for (const path of [RELEASES, SECRETS]) {
    for (const { metadata } of (await admin.get(path)).items) {
      // The collector may have been faster.
      await admin.remove(`${path}/${metadata.name}`).catch(() => undefined)
    }
  }
  const way = withFaults(inSmallPages)
  const watched = syncServicesOver(way.fetch, {
    now: () => Date.now() + GRACE_MS + 60_000,
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
    graceMs: GRACE_MS,
  })
  place = placeOn({ ...watched, admin, way, pass: () => undefined })
  await aboutToDelete(place)
  await leaveSeed()
})

async function leaveSeed(): Promise<void> {
  const { metadata, ...secret } = await place.secret('web')
  const annotations = {
    ...metadata.annotations,
    'credentials.cozystack.io/origin': 'NotIssued',
    'credentials.cozystack.io/release-uid': randomUUID(),
  }
  await admin.create(SECRETS, {
    ...secret,
    metadata: { name: 'postgres-failed.web.account', labels: metadata.labels, annotations },
  })
}

const swept = () => sweep(place.services, { by: BY })
const synced = async (): Promise<unknown> =>
  place.outcome().then(
    (outcome) => outcome,
    ({ message }: Error) => message,
  )

/** Sweeps and syncs write nothing: all is there, as it was. Answers what they say. */
async function nothingIsWritten(): Promise<readonly [unknown, unknown]> {
  const before = await place.secrets()
  expect(before).toHaveLength(3)
  const writes = place.writes().length
  const said = [await swept(), await synced()] as const
  await swept()
  expect(place.writes().slice(writes)).toEqual([])
  expect(await place.secrets()).toEqual(before)
  return said
}

/** Nothing else was in the way. */
async function isDeletedNow(): Promise<void> {
  expect(await swept()).toMatchObject({ ok: true, value: { deleted: 1, orphansDeleted: 1, failures: 0 } })
  expect((await place.secrets()).map(({ metadata }) => metadata.name)).toEqual([`${RELEASE}.web.account`])
}

const definition = () => admin.find(`${DEFINITIONS}/postgres`)
const hasBlock = async () => (await definition())?.spec?.credentials !== undefined
const kubectlPatch = (patch: string) =>
  succeed(api.plane, ['patch', 'crd', DEFINITION_CRD, '--type=json', '-p', patch])

describe('nothing is deleted', () => {
  test('while a CRD from before prunes the block of every definition', async () => {
    await kubectlPatch(JSON.stringify([{ op: 'remove', path: BLOCK }]))
    await eventually('the block is pruned', async () => !(await hasBlock()))
    const [sweeps, syncs] = await nothingIsWritten()
    expect(sweeps).toMatchObject({ ok: true, value: { releases: 0, failures: 0 } })
    expect(syncs).toMatchObject({ is: 'unserved' })
    await kubectlPatch(await readFile(PATCH_FILE, 'utf8'))
    await eventually('the block is there again', hasBlock)
    await isDeletedNow()
  })

  test('while the definition is deleted', async () => {
    const { metadata, ...rest } = await definition()
    await admin.remove(`${DEFINITIONS}/postgres`)
    const [sweeps, syncs] = await nothingIsWritten()
    expect(sweeps).toMatchObject({ ok: true, value: { releases: 0, failures: 0 } })
    expect(syncs).toMatchObject({ is: 'unserved' })
    await admin.create(DEFINITIONS, { ...rest, metadata: { name: metadata.name } })
    await isDeletedNow()
  })

  test('while a second definition has the kind', async () => {
    const { metadata: _, ...rest } = await definition()
    await admin.create(DEFINITIONS, { ...rest, metadata: { name: 'postgres2' } })
    const [sweeps, syncs] = await nothingIsWritten()
    expect(sweeps).toMatchObject({ ok: true, value: { releases: 0, failures: 1 } })
    expect(syncs).toBe('definitions_ambiguous')
    await admin.remove(`${DEFINITIONS}/postgres2`)
    await isDeletedNow()
  })

  test.each<[string, (credentials: Anything) => void]>([
    ['a source has a field too many', ({ accounts }) => Object.assign(accounts[0], { onwer: 'platform' })],
    ['the format is one that nobody knows', ({ format }) => Object.assign(format, { name: 'md5' })],
    [
      'a label is one that is not for it to give',
      ({ secretLabels }) => Object.assign(secretLabels, { 'apps.cozystack.io/x': 'y' }),
    ],
  ])('while the definition is wrong: %s', async (_, change) => {
    const before = (await definition()).spec.credentials
    const repair = () =>
      admin.change(`${DEFINITIONS}/postgres`, ({ spec }) => Object.assign(spec, { credentials: before }))
    onTestFinished(repair)
    await admin.change(`${DEFINITIONS}/postgres`, ({ spec }) => change(spec.credentials))
    const [sweeps, syncs] = await nothingIsWritten()
    expect(sweeps).toMatchObject({ ok: true, value: { releases: 0, failures: 1 } })
    expect(syncs).toBe('definition_wrong')
    await repair()
    await isDeletedNow()
  })

  test.each<[string, unknown]>([
    ['its values are no map where accounts are read', { users: 'web' }],
    ['they are a list there', { users: ['web'] }],
    ['one of its entries is malformed', { users: { web: {}, other: 'text' } }],
  ])('of a release while %s, though it has landed so', async (_, values) => {
    await place.changeRelease(({ spec }) => Object.assign(spec, { values }))
    await place.deployed()
    const before = [await place.secret('web'), await place.secret('old')]
    expect(await synced()).toMatchObject({ is: 'synced', report: { deleted: [], marked: [] } })
    expect(await swept()).toMatchObject({ ok: true, value: { deleted: 0, marked: 0 } })
    expect([await place.secret('web'), await place.secret('old')]).toEqual(before)
  })

  test('while every list is cut: etcd has forgotten where it was begun', async () => {
    betweenPages = api.plane.compactEtcd
    const [sweeps, syncs] = await nothingIsWritten()
    expect(sweeps).toMatchObject({ ok: false, failure: { reason: 'kube_expired' } })
    expect(syncs).toBe('kube_expired')
    betweenPages = undefined
    await isDeletedNow()
  })

  // One page and the cut, then all of it: three account Secrets, or four definitions, one a page.
  test.each([
    ['Secrets', '/api/v1/secrets', [false, true, false, true, true]],
    ['ApplicationDefinitions', DEFINITIONS, [false, true, false, true, true, true]],
  ])('before a list of %s that was cut once has been begun again, and is whole', async (_, path, pages) => {
    let cuts = 0
    betweenPages = async (of) => {
      if (of !== path) return
      cuts += 1
      if (cuts === 1) await api.plane.compactEtcd()
    }
    const from = place.way.calls().length
    await isDeletedNow()
    const lists = place.way
      .calls()
      .slice(from)
      .filter((call) => call.method === 'GET' && call.path.startsWith(`${path}?`))
    expect(lists.slice(0, pages.length).map((call) => call.path.includes('continue='))).toEqual(pages)
  })

  test.each([
    ['ApplicationDefinitions', DEFINITION_CRD, DEFINITIONS],
    ['HelmReleases', 'helmreleases.helm.toolkit.fluxcd.io', RELEASES],
  ])('while the API server does not serve the version of %s', async (_, crd, path) => {
    const serve = (isServed: boolean) =>
      admin.change(`${CRDS}/${crd}`, ({ spec }) => {
        for (const version of spec.versions) version.served = isServed
      })
    const isServed = async () => (await api.admin(new Request(`${api.plane.url}${path}`))).status === 200
    const before = (await admin.get(`${CRDS}/${crd}`)).spec.versions
    await serve(false)
    onTestFinished(async () => {
      await admin.change(`${CRDS}/${crd}`, ({ spec }) => Object.assign(spec, { versions: before }))
      await eventually('it is served again', isServed)
    })
    await eventually('it is not served', async () => !(await isServed()))
    const [sweeps, syncs] = await nothingIsWritten()
    expect(sweeps).toMatchObject({ ok: false, failure: { reason: 'kube_not_served' } })
    expect(syncs).toBe('kube_not_served')
    await admin.change(`${CRDS}/${crd}`, ({ spec }) => Object.assign(spec, { versions: before }))
    await eventually('it is served again', isServed)
    await isDeletedNow()
  })

  // The last one: all definitions go with it.
  test('while the API group of ApplicationDefinitions is not installed at all', async () => {
    await succeed(api.plane, ['delete', 'crd', DEFINITION_CRD, '--timeout=60s'])
    const path = `${api.plane.url}/apis/cozystack.io/v1alpha1`
    await eventually('the group is gone', async () => (await api.admin(new Request(path))).status === 404)
    const [sweeps, syncs] = await nothingIsWritten()
    expect(sweeps).toMatchObject({ ok: false, failure: { reason: 'kube_not_served' } })
    expect(syncs).toBe('kube_not_served')
    await api.plane.apply(await readFile(CRD_FILE, 'utf8'))
    await kubectlPatch(await readFile(PATCH_FILE, 'utf8'))
    await eventually('definitions are accepted', async () => {
      return api.plane.apply(exampleDefinitions()).then(hasBlock, () => false)
    })
    await isDeletedNow()
  })
})
