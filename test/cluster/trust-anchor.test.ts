import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ANCHOR, PROJECTION, SOURCE } from '../contract/anchoring.ts'
import { type Admin, type Anything, decode } from '../contract/kube.ts'
import { leaks } from '../contract/passwords.ts'
import { bodyLinesOf, createEngineCa, type EngineCa } from '../helpers/engine-ca.ts'
import {
  type Anchored,
  base64,
  type Place,
  projectionsIn,
  secretsIn,
  startAnchored,
  syncPath,
} from './anchored.ts'
import { eventually } from './eventually.ts'

/** Longer than the garbage collector takes to see what has no owner. */
const COLLECTED_MS = 3000
const RBAC = 'rbac.authorization.k8s.io'
const REFUSED = ['CACertPrivateKeyRefused']

let anchored: Anchored
let admin: Admin
let ca: EngineCa
beforeAll(async () => {
  anchored = await startAnchored()
  ;({ admin, ca } = anchored)
})
afterAll(() => anchored?.stop())

const versions = async ({ secret, projection }: Place) => [
  (await secret(ANCHOR)).metadata.resourceVersion,
  (await projection()).metadata.resourceVersion,
]

/** What the first look at a declaration writes, and no other. */
const FIRST = [`create secrets/${ANCHOR} 201`, `update tenantprojections/${PROJECTION}/status 200`] as const

describe('publishing', () => {
  test('CAP-15: a source with keys in many forms yields a Secret with the certificate alone', async () => {
    const acme = await anchored.place()
    await acme.change(SOURCE, (secret) => {
      for (const key of ['tls.key', 'key.der', 'tls-combined.pem', 'keystore.p12', 'truststore.jks']) {
        secret.data[key] = base64(ca.key)
      }
      secret.metadata.labels = { 'operator.example.org/cluster': 'orders' }
      secret.metadata.annotations = { 'operator.example.org/hash': 'abc' }
    })
    expect(await acme.sync()).toBe('Projected')
    const { type, data, metadata } = await acme.secret(ANCHOR)
    expect([type, Object.keys(data)]).toEqual(['Opaque', ['ca.crt']])
    expect(decode(data['ca.crt'])).toBe(ca.certificate)
    expect(metadata.labels).toEqual({
      'internal.cozystack.io/tenant-ca': 'true',
      'internal.cozystack.io/ca-cert-copy': 'true',
    })
    expect(metadata.annotations).toEqual({
      'internal.cozystack.io/ca-cert-source': `${acme.namespace}/${SOURCE}`,
      'internal.cozystack.io/ca-cert-selectors': '',
    })
    expect(await acme.events()).toEqual([])
  })

  test('with nothing to do nothing is written, by whichever replica', async () => {
    const acme = await anchored.place()
    await acme.sync()
    const before = await versions(acme)
    expect(await acme.sync()).toBe('Projected')
    expect(await anchored.hint(acme.namespace, 'TenantProjection', PROJECTION)).toBe(204)
    for (const name of [SOURCE, ANCHOR]) expect(await anchored.hint(acme.namespace, 'Secret', name)).toBe(204)
    expect(await versions(acme)).toEqual(before)
    // Not even one that the API server would have found to change nothing.
    expect(await acme.writes()).toEqual(FIRST)
    expect(await acme.events()).toEqual([])
  })

  test('many at once, by two replicas, come to the same', async () => {
    const acme = await anchored.place()
    const calls = Array.from({ length: 6 }, () => acme.sync())
    const hints = Array.from({ length: 6 }, () =>
      anchored.hint(acme.namespace, 'TenantProjection', PROJECTION),
    )
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['Projected']))
    for (const code of await Promise.all(hints)) expect([202, 204]).toContain(code)
    const stored = (await acme.writes()).filter((write) => / 20\d$/.test(write))
    expect(stored.toSorted()).toEqual(FIRST)
    const before = await versions(acme)
    expect(await acme.sync()).toBe('Projected')
    expect(await versions(acme)).toEqual(before)
  })

  test('what drifts is put right: data, labels, owner', async () => {
    const acme = await anchored.place()
    await acme.sync()
    const { metadata } = await acme.secret(ANCHOR)
    const { uid } = (await acme.secret(SOURCE)).metadata
    const other = { apiVersion: 'v1', kind: 'Secret', name: SOURCE, uid }
    await acme.change(ANCHOR, (secret) => {
      secret.data = { 'ca.crt': base64('theirs'), 'ca.key': base64(ca.key) }
      secret.metadata.labels = { mine: 'too' }
      delete secret.metadata.annotations
      // Both are there: the garbage collector takes what has lost one.
      const [owner] = secret.metadata.ownerReferences
      secret.metadata.ownerReferences = [{ ...owner, controller: false, blockOwnerDeletion: true }, other]
    })
    expect(await acme.sync()).toBe('Projected')
    const healed = await acme.secret(ANCHOR)
    expect(Object.keys(healed.data)).toEqual(['ca.crt'])
    expect(decode(healed.data['ca.crt'])).toBe(ca.certificate)
    expect(healed.metadata.labels).toEqual({ mine: 'too', ...metadata.labels })
    expect(healed.metadata.annotations).toEqual(metadata.annotations)
    expect(healed.metadata.ownerReferences).toEqual(metadata.ownerReferences)
  })

  test('an authority that is renewed is published with the old one, and then alone', async () => {
    const acme = await anchored.place()
    const next = await createEngineCa('next')
    const published = async () => decode((await acme.secret(ANCHOR)).data['ca.crt'])
    await acme.source({ 'ca.crt': next.certificate + ca.certificate, 'ca.key': next.key })
    expect(await anchored.hint(acme.namespace, 'Secret', SOURCE)).toBe(204)
    expect(await published()).toBe(next.certificate + ca.certificate)
    await acme.source({ 'ca.crt': next.certificate.replaceAll('\n', '\r\n'), 'ca.key': next.key })
    expect(await anchored.hint(acme.namespace, 'Secret', SOURCE)).toBe(204)
    expect(await published()).toBe(next.certificate)
  })

  test('the garbage collector leaves it, and takes it with what declares it', async () => {
    const acme = await anchored.place()
    await acme.sync()
    const { metadata } = await acme.secret(ANCHOR)
    await new Promise((resolve) => setTimeout(resolve, COLLECTED_MS))
    expect((await acme.secret(ANCHOR)).metadata.uid).toBe(metadata.uid)
    await admin.remove(`${projectionsIn(acme.namespace)}/${PROJECTION}`)
    await eventually('it is collected', async () => (await acme.secret(ANCHOR)) === undefined)
    // The source is its operator's.
    expect(await acme.secret(SOURCE)).toBeDefined()
  })

  test('a declaration that is made anew publishes anew, whatever the collector has left of the old one', async () => {
    const acme = await anchored.place()
    await acme.sync()
    await admin.remove(`${projectionsIn(acme.namespace)}/${PROJECTION}`)
    const { metadata } = await acme.declare(PROJECTION)
    const ownerOf = async () => (await acme.secret(ANCHOR))?.metadata.ownerReferences[0].uid
    await eventually('it is of the new one', async () => {
      expect(await acme.sync()).toMatch(/^Projected$|^ProjectionTerminating$/)
      return (await ownerOf()) === metadata.uid
    })
    await new Promise((resolve) => setTimeout(resolve, COLLECTED_MS))
    await acme.sync()
    expect(await ownerOf()).toBe(metadata.uid)
  })

  test('what is being deleted is waited for', async () => {
    const acme = await anchored.place()
    await acme.sync()
    await acme.change(ANCHOR, (secret) => {
      secret.metadata.finalizers = ['example.org/slow']
    })
    await admin.remove(`${secretsIn(acme.namespace)}/${ANCHOR}`)
    expect(await acme.sync()).toBe('ProjectionTerminating')
    await acme.change(ANCHOR, (secret) => {
      delete secret.metadata.finalizers
    })
    expect(await acme.sync()).toBe('Projected')
    expect((await acme.secret(ANCHOR)).metadata.deletionTimestamp).toBeUndefined()
  })
})

describe('what is not good enough', () => {
  const GARBAGE = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  test.each<[what: string, data: () => Readonly<Record<string, string>>, reason: string, event: string[]]>([
    ['garbage', () => ({ 'ca.crt': GARBAGE }), 'SourceRejected', ['CACertInvalid']],
    [
      'CAP-02: a certificate and its key',
      () => ({ 'ca.crt': ca.certificate + ca.key }),
      'SourceRejected',
      REFUSED,
    ],
    ['a key alone', () => ({ 'ca.crt': ca.key }), 'SourceRejected', REFUSED],
    ['a key in small letters', () => ({ 'ca.crt': ca.key.toLowerCase() }), 'SourceRejected', REFUSED],
    ['CAP-01: no CA, but a certificate', () => ({ 'tls.crt': ca.certificate }), 'SourceNotReady', []],
    ['CAP-01: an empty CA', () => ({ 'ca.crt': '', 'tls.crt': ca.certificate }), 'SourceNotReady', []],
    ['CAP-01: white space', () => ({ 'ca.crt': ' \n\t' }), 'SourceNotReady', []],
  ])('leaves what is published as it is, and says so: %s', async (_, data, reason, events) => {
    const acme = await anchored.place()
    await acme.sync()
    const before = await acme.secret(ANCHOR)
    await acme.source(data())
    for (let i = 0; i < 2; i += 1) expect(await acme.sync()).toBe(reason)
    expect(await acme.secret(ANCHOR)).toEqual(before)
    const said = `update tenantprojections/${PROJECTION}/status 200`
    expect(await acme.writes()).toEqual([...FIRST, said])
    const expected = events.map((event) => `Warning ${event} Secret/${SOURCE}`)
    await eventually('it is said', async () => (await acme.events()).length >= expected.length)
    expect([...new Set(await acme.events())]).toEqual(expected)
  })

  test('CAP-01: nor is a source that is gone, and kubectl shows why', async () => {
    const { kubectl } = anchored.plane
    const acme = await anchored.place()
    await acme.sync()
    const before = await acme.secret(ANCHOR)
    await acme.source(undefined)
    expect(await acme.sync()).toBe('SourceNotFound')
    expect(await acme.secret(ANCHOR)).toEqual(before)
    const get = async (...args: readonly string[]) =>
      (await kubectl(['get', 'tproj', '-n', acme.namespace, ...args])).stdout
    expect(await get()).toMatch(/^NAME +READY +AGE\npostgres-orders-ca +False +\d+s\n$/)
    const reason = 'jsonpath={.items[0].status.conditions[?(@.type=="Ready")].reason}'
    expect(await get('-o', reason)).toBe('SourceNotFound')
    const described = await kubectl(['describe', 'tproj', PROJECTION, '-n', acme.namespace])
    expect(described.stdout).toMatch(/Message: +there is no Secret postgres-orders-ca yet\n/)
    const wait = ['wait', '--for=condition=Ready', 'tproj', PROJECTION, '-n', acme.namespace, '--timeout=30s']
    const waiting = kubectl(wait)
    await acme.create(SOURCE, { 'ca.crt': ca.certificate })
    await acme.sync()
    expect((await waiting).code).toBe(0)
    expect(await get()).toMatch(/^NAME +READY +AGE\npostgres-orders-ca +True +\d+s\n$/)
  })
})

describe('a Secret that a tenant has put there', () => {
  const forge = async (change: (metadata: Anything, acme: Place) => object | Promise<object>) => {
    const acme = await anchored.place()
    const tenant = await writerIn(acme.namespace)
    await acme.sync()
    const { metadata, data } = await acme.secret(ANCHOR)
    await admin.remove(`${secretsIn(acme.namespace)}/${ANCHOR}`)
    const { labels, annotations, ownerReferences } = metadata
    const changed = await change({ labels, annotations, ownerReferences }, acme)
    const forged = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: ANCHOR, ...changed },
      data: { ...data, 'tls.key': base64('theirs') },
    }
    const create = ['create', '-n', acme.namespace, '-f', '-', '-o', 'json']
    expect(await tenant(create, JSON.stringify(forged))).toMatchObject({ code: 0 })
    return acme
  }

  test('CAP-13: is not touched, however it looks, and reported', async () => {
    const acme = await forge(({ labels, annotations }) => ({ labels, annotations }))
    const before = await acme.secret(ANCHOR)
    expect(await acme.sync()).toBe('ProjectionCollision')
    expect(await acme.secret(ANCHOR)).toEqual(before)
    await eventually('it is said', async () =>
      (await acme.events()).includes(`Warning CACertSecretCollision Secret/${ANCHOR}`),
    )
  })

  const ofAnother = async ({ ownerReferences: [owner] }: Anything, { declare }: Place) => {
    const { metadata } = await declare('another', (projection) => {
      projection.metadata.labels['helm.toolkit.fluxcd.io/name'] = 'redis-cache'
    })
    return { ownerReferences: [{ ...owner, name: 'another', uid: metadata.uid }] }
  }

  test('is not touched when it is owned by another declaration', async () => {
    const acme = await forge(ofAnother)
    const before = await acme.secret(ANCHOR)
    expect(await acme.sync()).toBe('ProjectionCollision')
    expect(await acme.secret(ANCHOR)).toEqual(before)
  })

  test.each<[string, (metadata: Anything, acme: Place) => object | Promise<object>]>([
    ['the right owner', (metadata) => metadata],
    // As what a declaration leaves that speaks for another release by now.
    [
      'the marks, and a declaration of another release as owner',
      async ({ labels, annotations, ownerReferences }, acme) => ({
        labels,
        annotations,
        ...(await ofAnother({ ownerReferences }, acme)),
      }),
    ],
  ])('gains nothing by %s: it becomes what it should be', async (_, change) => {
    const acme = await forge(change)
    expect(await acme.sync()).toBe('Projected')
    const { data, metadata } = await acme.secret(ANCHOR)
    expect(Object.keys(data)).toEqual(['ca.crt'])
    expect(decode(data['ca.crt'])).toBe(ca.certificate)
    expect(metadata.ownerReferences.map(({ name }: Anything) => name)).toEqual([PROJECTION])
  })
})

test('no role of a tenant may have anything published, and the role of the platform may', async () => {
  const acme = await anchored.place()
  const create = ['create', '--raw', syncPath(acme.namespace), '-f', '-']
  for (const role of ['mintonce:view', 'mintonce:mint', 'mintonce:sync']) {
    const tenant = await anchored.kubectlAs(`tenant-with-${role.split(':')[1]}`, ['tenants'])
    await anchored.bind(acme.namespace, role, { kind: 'Group', name: 'tenants' })
    const { code, stderr } = await tenant(create, '{}')
    expect(code).toBe(1)
    expect(stderr).toContain('cannot create resource "tenantprojections/sync"')
  }
  expect(await acme.secret(ANCHOR)).toBeUndefined()
  const operator = await anchored.kubectlAs('olga', ['platform'])
  await anchored.bind(acme.namespace, 'mintonce:trust-anchors-sync', { kind: 'Group', name: 'platform' })
  await eventually('the role counts', async () => (await operator(create, '{}')).code === 0)
  expect(decode((await acme.secret(ANCHOR)).data['ca.crt'])).toBe(ca.certificate)
  // Her role is good for that, and for nothing that a tenant has.
  const { stderr } = await operator(['get', 'secrets', '-n', acme.namespace])
  expect(stderr).toContain('forbidden')
})

/** The last one: it looks for the key that the others had lying about. */
test('the key is where its operator has put it, and nowhere else', async () => {
  const lines = bodyLinesOf(ca.key)
  expect(lines.length).toBeGreaterThan(1)
  const { plane, entry, other } = anchored
  const events = JSON.stringify(await admin.get('/apis/events.k8s.io/v1/events'))
  expect(events).toContain('CACertPrivateKeyRefused')
  const declared = JSON.stringify(await admin.get('/apis/internal.cozystack.io/v1alpha1/tenantprojections'))
  expect(declared).toContain('SourceRejected')
  for (const text of [await plane.auditLog(), entry.output(), other.output(), events, declared]) {
    expect(text.length).toBeGreaterThan(100)
    expect(leaks(text, lines)).toEqual([])
  }
  const holders = (await plane.etcdDump())
    .toString('latin1')
    .split(/(?=\/registry\/)/)
    .filter((record) => leaks(record, lines).length > 0)
    .map((record) => record.split('\n', 1)[0] ?? '')
  // It is found where it is: so the search would find it elsewhere.
  expect(holders.length).toBeGreaterThan(3)
  for (const path of holders)
    expect(path).toMatch(new RegExp(`^/registry/secrets/tenant-anchor-\\d+/${SOURCE}$`))
})

/** kubectl as somebody of the tenant who may write Secrets there. */
async function writerIn(namespace: string) {
  const metadata = { name: 'writer', namespace }
  await anchored.plane.apply([
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['create', 'get', 'update', 'delete'] }],
    },
  ])
  await anchored.bind(namespace, 'writer', { kind: 'Group', name: 'writers' }, 'Role')
  return anchored.kubectlAs('walter', ['writers'])
}
