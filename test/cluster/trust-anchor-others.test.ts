import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ANCHOR, PROJECTION, SOURCE } from '../contract/anchoring.ts'
import { SETTINGS } from '../contract/backends/settings.ts'
import { type Admin, type Anything, decode } from '../contract/kube.ts'
import { releaseOf } from '../contract/tenant.ts'
import { createEngineCa, type EngineCa } from '../helpers/engine-ca.ts'
import { type RunningEntry, startEntry } from '../helpers/entry.ts'
import { GROUP } from './aggregated.ts'
import {
  type Anchored,
  eventAbout,
  type Place,
  projectionsIn,
  releasesIn,
  startAnchored,
  syncPath,
} from './anchored.ts'
import { eventually } from './eventually.ts'

/** Others who are at the same objects at the same time: replicas, a controller of the platform, rivals, quotas. */

const RELEASE_LABEL = 'helm.toolkit.fluxcd.io/name'
const PROJECTED = 'Normal CACertProjected HelmRelease/postgres-orders'

let anchored: Anchored
let admin: Admin
let ca: EngineCa
let another: EngineCa
beforeAll(async () => {
  anchored = await startAnchored()
  ;({ admin, ca } = anchored)
  another = await createEngineCa('another')
})
afterAll(() => anchored?.stop())

const pathOf = ({ namespace }: Place, name = PROJECTION) => `${projectionsIn(namespace)}/${name}`
const ready = async ({ projection }: Place, name = PROJECTION): Promise<Anything> =>
  (await projection(name)).status?.conditions.find(({ type }: Anything) => type === 'Ready')
const changed = ({ namespace }: Place, name = PROJECTION) =>
  anchored.hint(namespace, 'TenantProjection', name)
const ownersOf = async ({ secret }: Place, name = ANCHOR) =>
  (await secret(name))?.metadata.ownerReferences.map(({ kind, name: owner }: Anything) => `${kind}/${owner}`)
const publishedIn = async ({ secret }: Place) => decode((await secret(ANCHOR)).data['ca.crt'])
const statusWrites = async ({ writes }: Place) =>
  (await writes()).filter((write) => write.includes('/status'))

/** With a source of its own. */
async function declareAnother(acme: Place, name = 'second'): Promise<Anything> {
  await acme.create(`${name}-ca`, { 'ca.crt': another.certificate })
  return acme.declare(name, ({ spec }) => {
    spec.projections[0].sourceSecretName = `${name}-ca`
  })
}

describe('another controller that says the same in its own words', () => {
  // `internal/controller/cacert/reconciler.go` of cozystack/cozystack, setReady: it writes when any of these is another.
  const THEIRS = 'all declared projections are published'
  const says = (acme: Place) =>
    admin.change(`${pathOf(acme)}/status`, ({ status }) => {
      const [condition] = status.conditions
      Object.assign(condition, { status: 'True', reason: 'Projected', message: THEIRS })
    })

  test('is left its words, and the status comes to rest', async () => {
    const acme = await anchored.place()
    await acme.sync()
    await says(acme)
    const { metadata } = await acme.projection()
    for (let turn = 1; turn <= 3; turn += 1) {
      expect(await changed(acme)).toBe(204)
      expect(await acme.sync()).toBe('Projected')
    }
    expect((await acme.projection()).metadata.resourceVersion).toBe(metadata.resourceVersion)
    expect(await statusWrites(acme)).toHaveLength(1)
    await acme.source({ 'ca.crt': 'garbage' })
    await acme.sync()
    expect(await ready(acme)).toMatchObject({ status: 'False', reason: 'SourceRejected' })
    expect((await ready(acme)).message).not.toBe(THEIRS)
  })

  test('words of ours are kept up to date', async () => {
    const acme = await anchored.place()
    await acme.sync()
    expect((await ready(acme)).message).toMatch(/^1 certificate /)
    const { lastTransitionTime } = await ready(acme)
    await acme.source({ 'ca.crt': ca.certificate + another.certificate })
    await acme.sync()
    expect(await ready(acme)).toMatchObject({
      message: expect.stringMatching(/^2 certificates /),
      lastTransitionTime,
    })
  })
})

describe('replicas that have read the definitions at different times', () => {
  const DEFINITION = '/apis/cozystack.io/v1alpha1/applicationdefinitions/postgres'
  const SETTLED = { ...SETTINGS, MINTONCE_API_GROUP: GROUP, MINTONCE_DEFINITIONS_MAX_AGE_SECONDS: '30' }
  let replicas: readonly RunningEntry[] = []
  beforeAll(async () => {
    replicas = await Promise.all([startEntry(anchored.api, SETTLED), startEntry(anchored.api, SETTLED)])
  })
  afterAll(() => Promise.all(replicas.map(({ stop }) => stop())))

  test('write the digest of the newer ones, once', async () => {
    const acme = await anchored.place()
    await admin.create(releasesIn(acme.namespace), releaseOf('Postgres', 'orders', {}))
    const { namespace } = acme
    const hint = async ({ port }: RunningEntry) => {
      const event = eventAbout(anchored.plane.url, { namespace, kind: 'Secret', name: ANCHOR })
      const { status } = await fetch(`http://127.0.0.1:${port}/events`, { method: 'POST', ...event })
      return status
    }
    const [older, newer] = replicas
    if (older === undefined || newer === undefined) throw new Error('they have not started')
    expect(await hint(older)).toBe(204)
    await admin.change(DEFINITION, ({ spec }) => {
      spec.secrets.include.push({ resourceNames: ['another'] })
    })
    for (let turn = 1; turn <= 5; turn += 1) {
      for (const replica of [newer, older]) expect(await hint(replica)).toBe(204)
    }
    const secret = (await acme.writes()).filter((write) => write.includes(ANCHOR))
    expect(secret).toEqual([`create secrets/${ANCHOR} 201`, `update secrets/${ANCHOR} 200`])
  })
})

describe('what a declaration leaves behind', () => {
  test('when it is of another release by now belongs to the next one of that release', async () => {
    const acme = await anchored.place()
    await acme.sync()
    const { uid } = (await acme.secret(ANCHOR)).metadata
    await admin.change(pathOf(acme), ({ metadata }) => {
      metadata.labels[RELEASE_LABEL] = 'postgres-new'
    })
    expect(await acme.sync()).toBe('Projected')
    expect(await ownersOf(acme, 'postgres-new.tenant-ca')).toEqual([`TenantProjection/${PROJECTION}`])
    expect((await ready(acme)).message).toContain('published as Secret postgres-new.tenant-ca')
    await declareAnother(acme)
    expect(await acme.sync('second')).toBe('Projected')
    expect(await publishedIn(acme)).toBe(another.certificate)
    expect([await ownersOf(acme), (await acme.secret(ANCHOR)).metadata.uid]).toEqual([
      ['TenantProjection/second'],
      uid,
    ])
    expect(await acme.events()).toEqual([])
  })

  test('while it is held up on its way out belongs to the next one', async () => {
    const acme = await anchored.place()
    await acme.sync()
    const { uid } = (await acme.secret(ANCHOR)).metadata
    await admin.change(pathOf(acme), ({ metadata }) => {
      metadata.finalizers = ['example.org/slow']
    })
    await admin.remove(pathOf(acme))
    await declareAnother(acme)
    expect(await acme.sync('second')).toBe('Projected')
    await admin.change(pathOf(acme), ({ metadata }) => {
      metadata.finalizers = []
    })
    await eventually('it is gone', async () => (await admin.find(pathOf(acme))) === undefined)
    expect(await publishedIn(acme)).toBe(another.certificate)
    expect((await acme.secret(ANCHOR)).metadata.uid).toBe(uid)
  })
})

describe('an event about a TenantProjection', () => {
  test('that comes and goes tells its rival', async () => {
    const acme = await anchored.place()
    await acme.sync()
    await declareAnother(acme)
    expect(await changed(acme, 'second')).toBe(204)
    for (const name of [PROJECTION, 'second']) {
      expect(await ready(acme, name)).toMatchObject({ status: 'False', reason: 'ReleaseContested' })
    }
    await admin.remove(pathOf(acme, 'second'))
    expect(await changed(acme, 'second')).toBe(204)
    expect(await ready(acme)).toMatchObject({ status: 'True', reason: 'Projected' })
    expect(await publishedIn(acme)).toBe(ca.certificate)
  })

  test('that is gone tells the name of an operator, so that the CA is published on', async () => {
    const acme = await anchored.place()
    await admin.create(releasesIn(acme.namespace), releaseOf('Postgres', 'orders', {}))
    await acme.sync()
    await admin.remove(pathOf(acme))
    expect(await changed(acme)).toBe(204)
    await eventually('it is of the release', async () =>
      (await ownersOf(acme))?.includes('HelmRelease/postgres-orders'),
    )
    expect(await publishedIn(acme)).toBe(ca.certificate)
    await eventually('the release says so', async () => (await acme.events()).includes(PROJECTED))
  })
})

test('labels on what is published itself stop nothing', async () => {
  const acme = await anchored.place()
  await admin.remove(pathOf(acme))
  await admin.create(releasesIn(acme.namespace), releaseOf('Postgres', 'orders', {}))
  await anchored.hint(acme.namespace, 'Secret', SOURCE)
  await acme.change(ANCHOR, ({ metadata }) => {
    metadata.labels['internal.cozystack.io/publish-ca-cert'] = 'true'
    metadata.labels['internal.cozystack.io/publish-ca-cert-release'] = 'postgres-orders'
  })
  await acme.source({ 'ca.crt': another.certificate })
  expect(await anchored.hint(acme.namespace, 'Secret', SOURCE)).toBe(204)
  expect(await publishedIn(acme)).toBe(another.certificate)
})

test('a quota that has no room is a reason in the status, and the call says it too', async () => {
  const acme = await anchored.place()
  const quotas = `/api/v1/namespaces/${acme.namespace}/resourcequotas`
  await admin.create(quotas, {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'few' },
    spec: { hard: { 'count/secrets': '1' } },
  })
  await eventually('it is counted', async () => {
    const { status } = await admin.get(`${quotas}/few`)
    return status?.used?.['count/secrets'] === '1'
  })
  await expect(acme.sync()).rejects.toThrow('resource quota "few" has no room for another Secret')
  expect(await ready(acme)).toMatchObject({
    status: 'False',
    reason: 'WriteRefused',
    message: 'resource quota few has no room for another Secret; what is published already stays',
  })
  const { stdout } = await anchored.plane.kubectl(['get', 'tproj', '-n', acme.namespace])
  expect(stdout).toMatch(/^postgres-orders-ca +False/m)
  await admin.remove(`${quotas}/few`)
  await eventually('it is published', async () => (await acme.sync().catch(() => '')) === 'Projected')
  expect(await ready(acme)).toMatchObject({ status: 'True', reason: 'Projected' })
})

test('a call for what is not declared names the kind by its own group', async () => {
  const { namespace } = await anchored.place()
  const call = ['create', '--raw', syncPath(namespace, 'nothing'), '-f', '-']
  const { code, stderr } = await anchored.plane.kubectl(call, '{}')
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('tenantprojections.internal.cozystack.io "nothing" not found'),
  ])
})
