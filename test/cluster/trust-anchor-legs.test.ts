import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCommand } from '../cli/command.ts'
import { ANCHOR, PROJECTION, SOURCE } from '../contract/anchoring.ts'
import { type Admin, type Anything, decode } from '../contract/kube.ts'
import { releaseOf } from '../contract/tenant.ts'
import { createEngineCa, type EngineCa } from '../helpers/engine-ca.ts'
import { type Anchored, type Place, projectionsIn, releasesIn, startAnchored } from './anchored.ts'
import { eventually } from './eventually.ts'

const RELEASE_LABEL = 'helm.toolkit.fluxcd.io/name'
const LABELS = {
  'internal.cozystack.io/publish-ca-cert': 'true',
  'internal.cozystack.io/publish-ca-cert-release': 'postgres-orders',
}

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

const publishedIn = async ({ secret }: Place, name = ANCHOR) => {
  const found = await secret(name)
  return found === undefined ? undefined : decode(found.data['ca.crt'])
}
const reasonOf = async ({ projection }: Place, name?: string) =>
  (await projection(name)).status.conditions.map(({ type, status, reason }: Anything) => [
    type,
    status,
    reason,
  ])

describe('declarations', () => {
  test('of one release that are two are both wrong, and what is published stays until one is gone', async () => {
    const acme = await anchored.place()
    await acme.sync()
    const before = await acme.secret(ANCHOR)
    await acme.create('rival-ca', { 'ca.crt': another.certificate })
    await acme.declare('rival', ({ spec }) => {
      spec.projections[0].sourceSecretName = 'rival-ca'
    })
    for (const name of [PROJECTION, 'rival']) {
      expect(await acme.sync(name)).toBe('ReleaseContested')
      expect(await reasonOf(acme, name)).toEqual([['Ready', 'False', 'ReleaseContested']])
    }
    expect(await acme.secret(ANCHOR)).toEqual(before)
    await admin.remove(`${projectionsIn(acme.namespace)}/${PROJECTION}`)
    await eventually('it is collected', async () => (await acme.secret(ANCHOR)) === undefined)
    // What the garbage collector did is an event about the Secret.
    expect(await anchored.hint(acme.namespace, 'Secret', ANCHOR)).toBe(204)
    expect(await publishedIn(acme)).toBe(another.certificate)
    expect(await reasonOf(acme, 'rival')).toEqual([['Ready', 'True', 'Projected']])
  })

  test('with two CAs publish neither', async () => {
    const acme = await anchored.place()
    await acme.sync()
    const before = await acme.secret(ANCHOR)
    await admin.change(`${projectionsIn(acme.namespace)}/${PROJECTION}`, ({ spec }) => {
      spec.projections.push({ type: 'CACert', sourceSecretName: 'rival-ca' })
    })
    expect(await acme.sync()).toBe('MultipleCACertProjections')
    expect(await acme.secret(ANCHOR)).toEqual(before)
    expect((await acme.projection()).status.observedGeneration).toBe(2)
  })

  test('CAP-13: of releases whose names look alike are two, each with a Secret of its own', async () => {
    const acme = await anchored.place()
    for (const release of ['foo', 'foo-tenant']) {
      await acme.declare(`${release}-ca`, ({ metadata }) => {
        metadata.labels[RELEASE_LABEL] = release
      })
      expect(await acme.sync(`${release}-ca`)).toBe('Projected')
    }
    const owners = await Promise.all(
      ['foo', 'foo-tenant'].map(async (release) => {
        const { metadata } = await acme.secret(`${release}.tenant-ca`)
        return metadata.ownerReferences.map(({ name }: Anything) => name)
      }),
    )
    expect(owners).toEqual([['foo-ca'], ['foo-tenant-ca']])
  })

  test('of no release publish nothing', async () => {
    const acme = await anchored.place()
    await acme.declare('nobody', ({ metadata }) => {
      delete metadata.labels
    })
    expect(await acme.sync('nobody')).toBe('NoRelease')
    expect(await reasonOf(acme, 'nobody')).toEqual([['Ready', 'False', 'NoRelease']])
  })

  test('may name as source what they would publish: it is looked at, and never written', async () => {
    const acme = await anchored.place()
    await admin.change(`${projectionsIn(acme.namespace)}/${PROJECTION}`, ({ spec }) => {
      spec.projections[0].sourceSecretName = ANCHOR
    })
    expect(await acme.sync()).toBe('SourceNotFound')
    const made = await acme.create(ANCHOR, { 'ca.crt': ca.certificate, 'ca.key': ca.key })
    expect(await acme.sync()).toBe('CanonicalNameOccupied')
    await acme.change(ANCHOR, ({ data }) => {
      delete data['ca.key']
    })
    expect(await acme.sync()).toBe('Projected')
    const { metadata, data } = await acme.secret(ANCHOR)
    expect([metadata.uid, metadata.labels, data]).toEqual([
      made.metadata.uid,
      undefined,
      { 'ca.crt': made.data['ca.crt'] },
    ])
    const said = ['CACertCanonicalNameOccupied', 'CACertCanonicalNameContract'].map(
      (reason) => `Warning ${reason} Secret/${ANCHOR}`,
    )
    await eventually('it is said', async () => (await acme.events()).length >= said.length)
    expect((await acme.events()).toSorted()).toEqual(said.toSorted())
  })

  test('the platform is to look again at who sees it when the definition says something else', async () => {
    const acme = await anchored.place()
    await admin.create(releasesIn(acme.namespace), releaseOf('Postgres', 'orders', {}))
    await acme.sync()
    // As the platform's admission webhook marks what it has seen.
    const mark = { 'internal.cozystack.io/managed-by-cozystack': '' }
    const { metadata: before } = await acme.change(ANCHOR, ({ metadata }) => {
      Object.assign(metadata.labels, mark)
    })
    await acme.sync()
    expect((await acme.secret(ANCHOR)).metadata.resourceVersion).toBe(before.resourceVersion)
    await admin.change('/apis/cozystack.io/v1alpha1/applicationdefinitions/postgres', ({ spec }) => {
      spec.secrets.include.push({ resourceNames: ['another'] })
    })
    await acme.sync()
    const { metadata: after } = await acme.secret(ANCHOR)
    expect(after.labels).not.toHaveProperty(['internal.cozystack.io/managed-by-cozystack'])
    const digestOf = ({ annotations }: Anything) => annotations['internal.cozystack.io/ca-cert-selectors']
    expect([digestOf(before), digestOf(after)]).toEqual([
      expect.stringMatching(/^[0-9a-f]{64}$/),
      expect.stringMatching(/^[0-9a-f]{64}$/),
    ])
    expect(digestOf(after)).not.toBe(digestOf(before))
  })
})

describe('without a TenantProjection', () => {
  const bare = async () => {
    const acme = await anchored.place()
    await admin.remove(`${projectionsIn(acme.namespace)}/${PROJECTION}`)
    const release = await admin.create(releasesIn(acme.namespace), releaseOf('Postgres', 'orders', {}))
    return { ...acme, release }
  }
  const ownedBy = ({ metadata }: Anything) => [
    {
      apiVersion: 'helm.toolkit.fluxcd.io/v2',
      kind: 'HelmRelease',
      name: 'postgres-orders',
      uid: metadata.uid,
      controller: true,
      blockOwnerDeletion: false,
    },
  ]
  const label = ({ create }: Place, name = 'labelled') =>
    create(
      name,
      { 'root.pem': another.certificate, 'root.key': another.key },
      {
        metadata: {
          name,
          labels: LABELS,
          annotations: { 'internal.cozystack.io/publish-ca-cert-key': 'root.pem' },
        },
      },
    )

  test('a tick finds what has the name of an operator, and it goes with the release', async () => {
    const acme = await bare()
    expect(await anchored.tick()).toBe(204)
    const { data, metadata } = await acme.secret(ANCHOR)
    expect(Object.keys(data)).toEqual(['ca.crt'])
    expect(decode(data['ca.crt'])).toBe(ca.certificate)
    expect(metadata.ownerReferences).toEqual(ownedBy(acme.release))
    await admin.remove(`${releasesIn(acme.namespace)}/postgres-orders`)
    await eventually('it is collected', async () => (await acme.secret(ANCHOR)) === undefined)
    // The source is its operator's.
    expect(await acme.secret(SOURCE)).toBeDefined()
  })

  test('a Secret that asks for it by labels is published at once when it is hinted at', async () => {
    const acme = await bare()
    await label(acme)
    expect(await anchored.hint(acme.namespace, 'Secret', 'labelled')).toBe(204)
    const published = await acme.secret(ANCHOR)
    expect(Object.keys(published.data)).toEqual(['ca.crt'])
    expect(decode(published.data['ca.crt'])).toBe(another.certificate)
    expect(published.metadata.ownerReferences).toEqual(ownedBy(acme.release))
    const said = 'Normal CACertProjected HelmRelease/postgres-orders'
    await eventually('the release says so', async () => (await acme.events()).includes(said))
    const before = await acme.writes()
    for (const name of ['labelled', SOURCE, ANCHOR]) {
      expect(await anchored.hint(acme.namespace, 'Secret', name)).toBe(204)
    }
    expect(await acme.writes()).toEqual(before)
  })

  test('its release must be there', async () => {
    const acme = await bare()
    await admin.remove(`${releasesIn(acme.namespace)}/postgres-orders`)
    await label(acme)
    for (const name of ['labelled', SOURCE]) {
      expect(await anchored.hint(acme.namespace, 'Secret', name)).toBe(204)
    }
    expect(await acme.secret(ANCHOR)).toBeUndefined()
    expect(await acme.writes()).toEqual([])
  })

  test('two that ask for it by labels are both refused, and what is published stays', async () => {
    const acme = await bare()
    await label(acme)
    await anchored.hint(acme.namespace, 'Secret', 'labelled')
    const before = await acme.secret(ANCHOR)
    await label(acme, 'rival')
    for (const name of ['labelled', 'rival']) await anchored.hint(acme.namespace, 'Secret', name)
    expect(await acme.secret(ANCHOR)).toEqual(before)
    const said = 'Warning CACertReleaseContested HelmRelease/postgres-orders'
    await eventually('the release says so', async () => (await acme.events()).includes(said))
  })

  test('one that holds its key in the same value is refused, as everywhere', async () => {
    const acme = await bare()
    await acme.source({ 'ca.crt': ca.certificate + ca.key })
    await anchored.hint(acme.namespace, 'Secret', SOURCE)
    expect(await acme.secret(ANCHOR)).toBeUndefined()
    const said = `Warning CACertPrivateKeyRefused Secret/${SOURCE}`
    await eventually('it is said', async () => (await acme.events()).includes(said))
  })

  test('a label speaks before a name, and a TenantProjection before both, for as long as it is there', async () => {
    const acme = await bare()
    const hintAll = async () => {
      for (const name of ['labelled', SOURCE]) await anchored.hint(acme.namespace, 'Secret', name)
    }
    await hintAll()
    expect(await publishedIn(acme)).toBe(ca.certificate)
    await label(acme)
    await hintAll()
    expect(await publishedIn(acme)).toBe(another.certificate)
    const third = await createEngineCa('third')
    await acme.create('third', { 'ca.crt': third.certificate })
    const { metadata } = await acme.declare('third', ({ spec }) => {
      spec.projections[0].sourceSecretName = 'third'
    })
    expect(await acme.sync('third')).toBe('Projected')
    await hintAll()
    expect(await publishedIn(acme)).toBe(third.certificate)
    expect((await acme.secret(ANCHOR)).metadata.ownerReferences[0].uid).toBe(metadata.uid)
    await admin.remove(`${projectionsIn(acme.namespace)}/third`)
    await eventually('it is collected', async () => (await acme.secret(ANCHOR)) === undefined)
    await hintAll()
    expect(await publishedIn(acme)).toBe(another.certificate)
    expect((await acme.secret(ANCHOR)).metadata.ownerReferences).toEqual(ownedBy(acme.release))
  })
})

describe('mintonce sweep', () => {
  const sweep = async (env: Readonly<Record<string, string>>) => {
    const { code, stdout, stderr } = await runCommand(['sweep', '--kubeconfig', anchored.plane.kubeconfig], {
      env,
    })
    return { code, stderr, report: stdout === '' ? undefined : JSON.parse(stdout) }
  }

  test('publishes what is declared, and has nothing to do the second time', async () => {
    const acme = await anchored.place()
    const first = await sweep({ MINTONCE_TRUST_ANCHORS: 'on' })
    expect(first).toMatchObject({ code: 0, report: { anchors: { failures: 0 } } })
    expect(first.report.anchors.written).toBeGreaterThan(0)
    expect(await publishedIn(acme)).toBe(ca.certificate)
    const again = await sweep({ MINTONCE_TRUST_ANCHORS: 'on' })
    expect(again).toMatchObject({ code: 0, report: { anchors: { ...first.report.anchors, written: 0 } } })
  })

  test('looks at none where no CA is published', async () => {
    const acme = await anchored.place()
    const { code, report } = await sweep({})
    expect([code, report.anchors]).toEqual([0, undefined])
    expect(await acme.secret(ANCHOR)).toBeUndefined()
  })
})

/** The last one: it takes the kind away. */
test('on a platform without the kind, names and labels are heard all the same', async () => {
  const acme = await anchored.place()
  await admin.create(releasesIn(acme.namespace), releaseOf('Postgres', 'orders', {}))
  const crd = 'tenantprojections.internal.cozystack.io'
  expect((await anchored.plane.kubectl(['delete', 'crd', crd, '--wait'])).code).toBe(0)
  await eventually('it is published by its name', async () => {
    await anchored.hint(acme.namespace, 'Secret', SOURCE)
    return (await publishedIn(acme)) === ca.certificate
  })
  const { code, stderr } = await runCommand(['sweep', '--kubeconfig', anchored.plane.kubeconfig], {
    env: { MINTONCE_TRUST_ANCHORS: 'on' },
  })
  expect(code).toBe(1)
  expect(stderr).toContain('the sweep failed: kube_not_served (internal.cozystack.io/v1alpha1)')
})
