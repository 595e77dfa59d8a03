import { beforeEach, describe, expect, test } from 'vitest'
import { decodeData } from '../../src/core/text.ts'
import { validate } from '../../src/credentials/admit.ts'
import { type Cluster, createOf, newRelease, refusalIn, startCluster } from '../helpers/admission.ts'

const SCRAM = /^SCRAM-SHA-256\$4096:[A-Za-z0-9+/]{22}==\$[A-Za-z0-9+/]{43}=:[A-Za-z0-9+/]{43}=$/

let cluster: Cluster
beforeEach(() => {
  cluster = startCluster()
})

const admit = (...given: Parameters<typeof createOf>) => validate(cluster.services, createOf(...given), {})
const billing = (users: unknown = { web: {}, report: {} }) => newRelease('Postgres', 'billing', { users })
const secret = (user = 'web') => cluster.secret(`postgres-billing.${user}.account`)
const passwordOf = async (user = 'web') => (await secret(user))?.data?.password

describe('a new application', () => {
  test('has the Secrets of its accounts before it is stored, with its uid and without an owner', async () => {
    const release = billing()
    expect(await admit(release)).toEqual({ is: 'allowed', warnings: [], patch: [], adopts: false })
    const web = await secret()
    expect(web).toMatchObject({
      type: 'kubernetes.io/basic-auth',
      metadata: {
        labels: {
          'credentials.cozystack.io/account': 'true',
          'apps.cozystack.io/application.kind': 'Postgres',
          'apps.cozystack.io/application.name': 'billing',
          'cnpg.io/reload': 'true',
        },
        annotations: {
          'credentials.cozystack.io/origin': 'NotIssued',
          'credentials.cozystack.io/release-uid': release.metadata.uid,
        },
      },
    })
    expect(web?.metadata.ownerReferences).toBeUndefined()
    expect(JSON.parse(web?.metadata.annotations?.['credentials.cozystack.io/history'] ?? '')).toEqual([
      { operation: 'Create', at: '2026-10-02T09:14:07Z', by: 'jane@example.org' },
    ])
    expect(decodeData(web?.data?.username)).toBe('web')
    expect(decodeData(web?.data?.password)).toMatch(SCRAM)
    expect(await secret('report')).toBeDefined()
    expect(await secret('postgres')).toBeUndefined()
  })

  test('gets all of many accounts', async () => {
    const users = Object.fromEntries(Array.from({ length: 250 }, (_, index) => [`u${index}`, {}]))
    expect(refusalIn(await admit(billing(users)))).toBeUndefined()
    expect(cluster.writes()).toHaveLength(250)
    expect(new Set(cluster.writes())).toEqual(new Set(['POST secrets']))
  })

  test.each([
    ['without users', billing(null)],
    ['without values', newRelease('Postgres', 'billing', undefined)],
    ['of a kind that no definition has', newRelease('Kafka', 'billing', { users: { web: {} } })],
    ['that is no application', { ...billing(), metadata: { ...billing().metadata, labels: {} } }],
  ])('%s gets nothing', async (_, release) => {
    expect(refusalIn(await admit(release))).toBeUndefined()
    expect(cluster.writes()).toEqual([])
  })

  test('is looked at as a whole in a dry run, and nothing is stored', async () => {
    expect(refusalIn(await admit(billing(), { dryRun: true }))).toBeUndefined()
    expect(cluster.writes()).toEqual([])
    expect(await secret()).toBeUndefined()
    expect(cluster.logged).toEqual([])
    await cluster.putSecret(foreign)
    expect(refusalIn(await admit(billing(), { dryRun: true }))).toHaveLength(1)
  })
})

const foreign = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'postgres-billing.web.account', namespace: 'tenant-acme' },
  data: { password: 'aHVudGVyMg==' },
}

describe('names that are wrong', () => {
  test.each([
    [
      'two that map to one',
      { a_b: {}, 'a-b': {}, web: {} },
      ['spec.users["a-b"]: the usernames "a-b" and "a_b" map to one account name, "a-b": rename one of them'],
    ],
    [
      'one that maps to one of the platform',
      { Postgres: {} },
      [
        'spec.users["Postgres"]: the usernames "Postgres" and "postgres" map to one account name, "postgres", which is an account of the platform: rename the one that is yours',
      ],
    ],
    [
      'one that makes no name',
      { '-a': {} },
      [expect.stringMatching(/^spec\.users\["-a"\]: the username "-a" makes no valid name/)],
    ],
    ['an empty one', { '': {} }, [expect.stringMatching(/^spec\.users\[""\]: the username "" is empty$/)]],
    ['one of another shape', { web: 'hunter2' }, ['spec.users["web"]: must be a map, and is a text']],
    ['a list of them', ['web'], ['spec.users: must be a map of users, and is a list']],
    [
      'too many',
      Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`u${index}`, {}])),
      ['spec: declares more than 256 accounts'],
    ],
  ])('%s: refused, by the field that was written', async (_, users, said) => {
    const verdict = await admit(billing(users))
    expect(refusalIn(verdict)).toEqual(said)
    expect(JSON.stringify(verdict)).not.toContain('hunter2')
    expect(cluster.writes()).toEqual([])
  })

  test('a release whose name has a dot: its Credentials could not be told from those of another', async () => {
    const release = billing()
    const dotted = { ...release, metadata: { ...release.metadata, name: 'postgres-a.b' } }
    expect(refusalIn(await admit(dotted))).toEqual([
      'metadata.name: must hold no dot: names of credentials are split at the first one',
    ])
    expect(cluster.writes()).toEqual([])
  })

  test('all of them are said at once', async () => {
    expect(refusalIn(await admit(billing({ a_b: {}, 'a-b': {}, '-c': {} })))).toHaveLength(2)
  })
})

describe('a name that exists', () => {
  test.each(['postgres-orders', 'redis-cache'])('%s: nothing is written for its create', async (name) => {
    const stored = await cluster.release(name)
    const again = { ...stored, metadata: { ...stored.metadata, uid: 'another' } }
    expect(refusalIn(await admit(again))).toBeUndefined()
    expect(cluster.writes()).toEqual([])
  })

  test('nor while it is being deleted', async () => {
    const stored = await cluster.store({
      ...billing(),
      metadata: { ...billing().metadata, finalizers: ['finalizers.fluxcd.io'] },
    })
    await cluster.send(
      'DELETE',
      '/apis/helm.toolkit.fluxcd.io/v2/namespaces/tenant-acme/helmreleases/postgres-billing',
    )
    expect((await cluster.release('postgres-billing')).metadata.deletionTimestamp).toBeDefined()
    expect(refusalIn(await admit({ ...stored, metadata: billing().metadata }))).toBeUndefined()
    expect(cluster.writes()).toEqual([])
  })

  test('what was wrong in it before is not what its create is refused for', async () => {
    const stored = await cluster.store(billing({ a_b: {}, 'a-b': {} }))
    const again = { ...stored, metadata: billing().metadata }
    expect(refusalIn(await admit(again))).toBeUndefined()
    const worse = { ...again, spec: { values: { users: { a_b: {}, 'a-b': {}, '-c': {} } } } }
    expect(refusalIn(await admit(worse))).toEqual([expect.stringContaining('"-c"')])
  })
})

describe('what stands at the name of a Secret', () => {
  test('the seed of a create that failed is taken over, with its value', async () => {
    await admit(billing())
    const [before, first] = [await passwordOf(), await secret()]
    const second = billing()
    expect(refusalIn(await admit(second))).toBeUndefined()
    expect(await passwordOf()).toBe(before)
    const taken = await secret()
    expect(taken?.metadata.uid).toBe(first?.metadata.uid)
    expect(taken?.metadata.annotations).toEqual({
      ...first?.metadata.annotations,
      'credentials.cozystack.io/release-uid': second.metadata.uid,
    })
  })

  test.each<[string, (seed: Seed) => object, RegExp]>([
    ['a Secret of somebody else', () => foreign, /was not written by mintonce; it is left alone: delete it/],
    ['one of another type', (seed) => ({ ...seed, type: 'Opaque' }), /type is not kubernetes.io\/basic-auth/],
    ['a password that was minted', annotated({ origin: 'Minted' }), /may know its password.*mintonce adopt/],
    [
      'one that was revoked',
      annotated({ origin: 'Revoked' }),
      /nothing owns it: delete it, or wait until a sweep has/,
    ],
    [
      'a seed that was minted in between',
      annotated({ history: '[{"operation":"Revoke","at":"2026-10-02T09:14:07Z","by":"x"}]' }),
      /nothing owns it: delete it, or wait until a sweep has/,
    ],
    [
      'a seed whose history was edited',
      annotated({ history: 'x' }),
      /nothing owns it: delete it, or wait until a sweep has/,
    ],
    ['a seed of another kind', labelled('MariaDB'), /nothing owns it: delete it, or wait until a sweep has/],
    ['a seed of another user', named('WEB'), /is of user "WEB"/],
    ['a seed of an application that there was', owned, /wait until it has been collected/],
    ['a seed in another format', valued('Kg=='), /nothing owns it: delete it, or wait until a sweep has/],
  ])('%s refuses the create, and stays as it is', async (_, change, said) => {
    await admit(billing({ web: {} }))
    const seed = await secret()
    await cluster.send('DELETE', '/api/v1/namespaces/tenant-acme/secrets/postgres-billing.web.account')
    const { uid: _uid, resourceVersion: _version, ...metadata } = seed?.metadata ?? { name: '' }
    await cluster.putSecret(change({ ...seed, metadata } as Seed))
    const before = await secret()
    const writes = cluster.writes().length
    const verdict = await admit(billing())
    expect(refusalIn(verdict)).toEqual([expect.stringMatching(said)])
    expect(JSON.stringify(verdict)).not.toContain('hunter2')
    expect(await secret()).toEqual(before)
    expect(cluster.writes()).toHaveLength(writes)
    expect(await secret('report')).toBeUndefined()
  })

  test('a Secret that an operator has marked for it stays as it is until the application is stored', async () => {
    await admit(billing({ web: {} }))
    const seed = await secret()
    await cluster.send('DELETE', '/api/v1/namespaces/tenant-acme/secrets/postgres-billing.web.account')
    const annotations = {
      'credentials.cozystack.io/origin': 'Minted',
      'credentials.cozystack.io/adopt': 'true',
    }
    await cluster.putSecret({
      ...seed,
      metadata: { name: seed?.metadata.name, namespace: 'tenant-acme', annotations },
    })
    const before = await secret()
    expect(refusalIn(await admit(billing({ web: {} })))).toBeUndefined()
    expect(await secret()).toEqual(before)
  })
})

interface Seed {
  readonly metadata: {
    readonly annotations: Readonly<Record<string, string>>
    readonly labels: Readonly<Record<string, string>>
  }
  readonly data: Readonly<Record<string, string>>
}
function annotated(change: Readonly<Record<string, string>>) {
  const marks = Object.entries(change).map(([name, value]) => [`credentials.cozystack.io/${name}`, value])
  return ({ metadata, ...seed }: Seed) => ({
    ...seed,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...Object.fromEntries(marks) } },
  })
}
function labelled(kind: string) {
  return ({ metadata, ...seed }: Seed) => ({
    ...seed,
    metadata: { ...metadata, labels: { ...metadata.labels, 'apps.cozystack.io/application.kind': kind } },
  })
}
function named(username: string) {
  return ({ data, ...seed }: Seed) => ({
    ...seed,
    data: { ...data, username: Buffer.from(username).toString('base64') },
  })
}
function valued(password: string) {
  return ({ data, ...seed }: Seed) => ({ ...seed, data: { ...data, password } })
}
function owned({ metadata, ...seed }: Seed) {
  const owner = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', name: 'x', uid: 'gone' }
  return { ...seed, metadata: { ...metadata, ownerReferences: [owner] } }
}

describe('fails closed', () => {
  test.each<[string, (cluster: Cluster) => unknown, string]>([
    [
      'a definition that is wrong',
      (c) => c.setBlock('postgres', { format: { name: 'md5' } }),
      'definition_wrong',
    ],
    ['definitions that cannot be read', (c) => c.breaks('GET', /applicationdefinitions/), 'kube_error'],
    ['a namespace that cannot be read', (c) => c.breaks('GET', /\/namespaces\/tenant-acme$/), 'kube_error'],
    ['a release that cannot be looked for', (c) => c.breaks('GET', /helmreleases/), 'kube_error'],
    ['a Secret that cannot be looked for', (c) => c.breaks('GET', /secrets/), 'kube_error'],
    ['a Secret that cannot be created', (c) => c.breaks('POST', /secrets/), 'kube_error'],
    ['rights that are missing', (c) => c.breaks('POST', /secrets/, 403), 'kube_forbidden'],
  ])('%s refuses the create', async (_, prepare, reason) => {
    await prepare(cluster)
    expect(refusalIn(await admit(billing()))).toEqual([expect.stringContaining(reason)])
    expect(await secret()).toBeUndefined()
  })

  test('a namespace that is not there', async () => {
    const release = billing()
    const elsewhere = { ...release, metadata: { ...release.metadata, namespace: 'tenant-nobody' } }
    expect(refusalIn(await admit(elsewhere, { namespace: 'tenant-nobody' }))).toEqual([
      'namespace "tenant-nobody" does not exist',
    ])
    expect(cluster.writes()).toEqual([])
  })

  test('an object that has no uid yet: no mark could tell whose the Secret is', async () => {
    const release = billing()
    const unborn = { ...release, metadata: { ...release.metadata, uid: '' } }
    expect(refusalIn(await admit(unborn))).toEqual([expect.stringContaining('no uid yet')])
    expect(cluster.writes()).toEqual([])
  })

  test('what was written before a failure stays, and the next try takes it over', async () => {
    const { kube } = cluster.services
    const failing: typeof kube.createSecret = async (given, options) =>
      given.metadata.name.includes('report')
        ? { ok: false, failure: { reason: 'kube_timeout', call: 'create Secret' } }
        : kube.createSecret(given, options)
    const services = { ...cluster.services, kube: { ...kube, createSecret: failing } }
    const verdict = await validate(services, createOf(billing()), {})
    expect(refusalIn(verdict)).toEqual(['the account Secrets could not be created: kube_timeout'])
    const before = await passwordOf()
    expect(before).toBeDefined()
    expect(refusalIn(await admit(billing()))).toBeUndefined()
    expect(await passwordOf()).toBe(before)
    expect(await secret('report')).toBeDefined()
  })
})

test('somebody who was faster by one Secret is looked at once more', async () => {
  const { kube } = cluster.services
  const release = billing({ web: {} })
  const raced = {
    ...cluster.services,
    kube: {
      ...kube,
      createSecret: async (...given: Parameters<typeof kube.createSecret>) => {
        // The same review, sent twice.
        if ((await secret()) === undefined) await kube.createSecret(...given)
        return kube.createSecret(...given)
      },
    },
  }
  expect(refusalIn(await validate(raced, createOf(release), {}))).toBeUndefined()
  expect((await secret())?.metadata.annotations).toMatchObject({
    'credentials.cozystack.io/release-uid': release.metadata.uid,
  })
})

test('no password, in the clear or stored, is in a log line or an answer', async () => {
  const verdict = await admit(billing())
  const stored = [await passwordOf(), await passwordOf('report')]
  for (const value of stored) {
    const seen = `${JSON.stringify(verdict)}${cluster.logged.join('')}`
    expect(seen).not.toContain(value)
    expect(seen).not.toContain(decodeData(value))
  }
  expect(cluster.logged).toHaveLength(2)
})
