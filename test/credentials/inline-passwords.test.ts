import { beforeEach, describe, expect, test } from 'vitest'
import { validate } from '../../src/credentials/admit.ts'
import { mutate } from '../../src/credentials/admit-mutate.ts'
import type { HelmRelease } from '../../src/k8s/objects.ts'
import { type Cluster, createOf, newRelease, startCluster, updateOf } from '../helpers/admission.ts'

let cluster: Cluster
beforeEach(() => {
  cluster = startCluster()
})

const PLACE = '/spec/values/users/web/password'
const KEPT = 'spec.users["web"].password is kept until the account is converted: mint a password instead'
const IGNORED = 'spec.users["web"].password is ignored: mint a password instead'
const HELD =
  'spec.users["web"].password keeps what it was until the account is converted: mint a password instead'

const billing = (users: unknown = { web: { password: 'hunter2' } }) =>
  newRelease('Postgres', 'billing', { users })
const labelled = (release: HelmRelease): HelmRelease => ({
  ...release,
  metadata: { ...release.metadata, labels: { ...release.metadata.labels, team: 'x' } },
})
const update = (before: HelmRelease, after: HelmRelease) =>
  mutate(cluster.services, { ...updateOf(before, {}), object: after }, {})
const users = (release: HelmRelease, changed: unknown): HelmRelease => ({
  ...release,
  spec: { ...release.spec, values: { users: changed } },
})
/** An account Secret of this release. */
async function convert(release: HelmRelease): Promise<void> {
  await validate(cluster.services, createOf(users(release, { web: {} })), {})
}

describe('a password of an account that has no Secret', () => {
  test.each<[string, (release: HelmRelease) => HelmRelease]>([
    ['a label', labelled],
    ['another value of the account', (r) => users(r, { web: { password: 'hunter2', x: 1 } })],
    ['another account', (r) => users(r, { web: { password: 'hunter2' }, more: {} })],
  ])('stays when a write changes %s', async (_, change) => {
    const before = billing()
    expect(await update(before, change(before))).toMatchObject({ patch: [], warnings: [KEPT] })
  })

  test('is not changed by what somebody writes over it: neither of the two would work', async () => {
    const before = billing()
    expect(await update(before, users(before, { web: { password: 'correct-horse' } }))).toMatchObject({
      patch: [{ op: 'replace', path: PLACE, value: 'hunter2' }],
      warnings: [HELD],
    })
  })

  test('stays where it moves to in a list', async () => {
    await cluster.setBlock('postgres', {
      accounts: [{ kind: 'ValuesList', path: 'users', nameField: 'name' }],
    })
    const web = { name: 'web', password: 'hunter2' }
    const before = billing([web])
    const after = users(before, [{ name: 'more', password: 'x' }, web])
    expect(await update(before, after)).toMatchObject({
      patch: [{ op: 'remove', path: '/spec/values/users/0/password' }],
      warnings: [
        'spec.users[0].password is ignored: mint a password instead',
        expect.stringContaining('kept'),
      ],
    })
  })

  test('stays when nobody can tell whether there is one', async () => {
    const before = billing()
    await convert(before)
    cluster.breaks('GET', /secrets/)
    expect(await update(before, labelled(before))).toMatchObject({ patch: [], warnings: [KEPT] })
  })

  test('stays when the Secret that there was is being deleted', async () => {
    const before = billing()
    await convert(before)
    const path = '/api/v1/namespaces/tenant-acme/secrets/postgres-billing.web.account'
    await cluster.send('PATCH', path, { metadata: { finalizers: ['example.org/hold'] } })
    await cluster.send('DELETE', path)
    const held = await cluster.secret('postgres-billing.web.account')
    expect(held?.metadata.deletionTimestamp).toBeDefined()
    expect(await update(before, labelled(before))).toMatchObject({ patch: [], warnings: [KEPT] })
  })

  test('stays when what holds its name is of somebody else', async () => {
    const before = billing()
    await convert(before)
    const other = { ...before, metadata: { ...before.metadata, uid: 'another' } }
    expect(await update(other, labelled(other))).toMatchObject({ patch: [], warnings: [KEPT] })
  })
})

describe('a password is dropped', () => {
  test.each<[string, unknown]>([
    ['whose account a write adds', { report: {} }],
    ['that a write gives to an account without', { web: { x: 1 } }],
    ['of a text that becomes a map', { web: 'hunter2' }],
  ])('%s', async (_, was) => {
    const after = billing()
    expect(await update(users(after, was), after)).toMatchObject({
      patch: [{ op: 'remove', path: PLACE }],
      warnings: [IGNORED],
    })
  })

  test.each<[string, (release: HelmRelease) => HelmRelease]>([
    ['by a write of something else', labelled],
    ['when it is written again', (r) => users(r, { web: { password: 'correct-horse' } })],
  ])('of an account that has its Secret, %s', async (_, change) => {
    const before = billing()
    await convert(before)
    expect(await update(before, change(before))).toMatchObject({
      patch: [{ op: 'remove', path: PLACE }],
      warnings: [IGNORED],
    })
  })

  test('and no Secret is read for it when the write brings it', async () => {
    const after = billing()
    cluster.breaks('GET', /secrets/)
    expect(await update(users(after, {}), after)).toMatchObject({ patch: [{ op: 'remove', path: PLACE }] })
  })
})
