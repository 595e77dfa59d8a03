import { beforeEach, describe, expect, test } from 'vitest'
import { noMetrics } from '../../src/core/metrics.ts'
import { validate } from '../../src/credentials/admit.ts'
import { mutate } from '../../src/credentials/admit-mutate.ts'
import type { AdmissionServices } from '../../src/credentials/admit-served.ts'
import { createDefinitionLookup } from '../../src/definitions/lookup.ts'
import { NO_WEBHOOKS } from '../../src/definitions/webhook.ts'
import { createKube } from '../../src/k8s/adapter.ts'
import type { HelmRelease } from '../../src/k8s/objects.ts'
import { sendOver } from '../../src/k8s/send.ts'
import { type Cluster, newRelease, startCluster, updateOf } from '../helpers/admission.ts'
import { NOW } from '../helpers/orders.ts'

const DEFINITIONS = 'applicationdefinitions'
/** What a way that never ends is told from. */
const SOON_MS = 50

let cluster: Cluster
/** The last part of each path that was asked for. */
let asked: string[]
/** What is waited for before the definitions are answered. */
let held: Promise<unknown>
let services: AdmissionServices

/** Definitions that are kept for a while, as the function keeps them. */
beforeEach(() => {
  cluster = startCluster()
  asked = []
  held = Promise.resolve()
  const fetch = async (request: Request) => {
    const name = new URL(request.url).pathname.split('/').at(-1) ?? ''
    asked.push(name)
    if (name === DEFINITIONS) await held
    return cluster.fetch(request)
  }
  const now = () => NOW
  const metrics = noMetrics
  const kube = createKube({ send: sendOver(fetch), timeoutMs: 5000, reportingInstance: 'test', now, metrics })
  const lookup = { kube, now, maxAgeMs: 30_000, timeoutMs: 5000, webhooks: NO_WEBHOOKS }
  services = { ...cluster.services, kube, definitions: createDefinitionLookup(lookup) }
})

const stored = (kind: string, users: object): Promise<HelmRelease> =>
  cluster.store(newRelease(kind, 'shop', { users }))

/** What is asked for while nobody answers which definitions there are. */
async function askedMeanwhile(judge: typeof validate, review: ReturnType<typeof updateOf>) {
  let release: (value?: unknown) => void = () => undefined
  held = new Promise((resolve) => {
    release = resolve
  })
  const verdict = judge(services, review, {})
  await new Promise((resolve) => setTimeout(resolve, SOON_MS))
  const meanwhile = asked.toSorted()
  release()
  return { meanwhile, verdict: await verdict }
}

describe('an update of values, with definitions at hand', () => {
  test('reads the definitions, the release and its account Secrets side by side, each once', async () => {
    const release = await stored('Postgres', { web: {}, report: {} })
    await services.definitions.load()
    asked = []
    const review = updateOf(release, { values: { users: { web: { x: 1 }, report: {}, added: {} } } })
    const { meanwhile, verdict } = await askedMeanwhile(validate, review)
    expect(meanwhile).toEqual([
      DEFINITIONS,
      'postgres-shop',
      'postgres-shop.report.account',
      'postgres-shop.web.account',
    ])
    expect(verdict).toMatchObject({ is: 'allowed' })
    // The added one: is there a Secret, is there a password from before, and the write.
    expect(asked.slice(4).toSorted()).toEqual([
      'postgres-shop-credentials',
      'postgres-shop.added.account',
      'secrets',
    ])
  })

  test('that is mutated reads Secrets beside them where their values go to the chart', async () => {
    const wired = await stored('ClickHouse', { etl: {} })
    const other = await stored('Postgres', { web: {} })
    await services.definitions.load()
    asked = []
    const review = updateOf(wired, { values: { users: { etl: { x: 1 } } } })
    const { meanwhile, verdict } = await askedMeanwhile(mutate, review)
    expect(meanwhile).toEqual([DEFINITIONS, 'clickhouse-shop.etl.account'])
    expect(verdict).toMatchObject({ warnings: [expect.stringContaining('user "etl" has no Secret')] })
    asked = []
    await mutate(services, updateOf(other, { values: { users: { web: { x: 1 } } } }), {})
    expect(asked).toEqual([DEFINITIONS])
  })

  test('is answered by the definitions as they are, whatever was at hand', async () => {
    const release = await cluster.store(
      newRelease('Postgres', 'shop', { users: { web: {} }, people: { sue: {} } }),
    )
    for (const user of ['web', 'sue']) {
      const metadata = { name: `postgres-shop.${user}.account`, namespace: release.metadata.namespace }
      await cluster.putSecret({ apiVersion: 'v1', kind: 'Secret', metadata })
    }
    const update = () =>
      validate(services, updateOf(release, { values: { users: { web: { x: 1 } }, people: { sue: {} } } }), {})
    await services.definitions.load()
    expect(await update()).toMatchObject({ warnings: [expect.stringContaining('user "web"')] })
    await cluster.setBlock('postgres', { accounts: [{ kind: 'ValuesMap', path: 'people' }] })
    expect(await update()).toMatchObject({ warnings: [expect.stringContaining('user "sue"')] })
    await cluster.setBlock('postgres', null as unknown as object)
    expect(await update()).toEqual({ is: 'allowed', warnings: [], patch: [], adopts: false })
  })

  test.each([
    [8, 8],
    [9, 0],
  ])(
    'of %i accounts reads %i Secrets ahead: whoever makes a review up costs no more',
    async (count, ahead) => {
      const users = Object.fromEntries(Array.from({ length: count }, (_, index) => [`u${index}`, {}]))
      const release = await stored('Postgres', users)
      await services.definitions.load()
      asked = []
      const review = updateOf(release, { values: { users: { ...users, u0: { x: 1 } } } })
      const { meanwhile } = await askedMeanwhile(validate, review)
      expect(meanwhile.filter((name) => name.endsWith('.account'))).toHaveLength(ahead)
      expect(asked.filter((name) => name.endsWith('.account'))).toHaveLength(count)
    },
  )

  test('reads no Secrets ahead where a source asks others', async () => {
    const release = await stored('Postgres', { web: {} })
    const webhook = { clientConfig: { url: 'https://accounts.example.org', caBundle: 'eA==' } }
    await cluster.setBlock('postgres', { accounts: [{ kind: 'Webhook', webhook }] })
    await services.definitions.load()
    asked = []
    const review = updateOf(release, { values: { users: { web: { x: 1 } } } })
    const { meanwhile } = await askedMeanwhile(validate, review)
    expect(meanwhile).toEqual([DEFINITIONS, 'postgres-shop'])
  })
})

test('nothing is read for an update of what is no application, or is being deleted', async () => {
  const release = await stored('Postgres', { web: {} })
  await services.definitions.load()
  asked = []
  const { metadata } = release
  for (const changed of [
    { ...metadata, labels: {} },
    { ...metadata, deletionTimestamp: '2026-10-02T09:14:07Z' },
  ]) {
    const review = updateOf({ ...release, metadata: changed }, { values: {} })
    for (const judge of [validate, mutate]) await judge(services, review, {})
  }
  expect(asked).toEqual([])
})

test('an update of an annotation is not wired by rules that are old', async () => {
  const release = await stored('ClickHouse', { etl: {} })
  const wiredBy = async (review: ReturnType<typeof updateOf>) => {
    const verdict = await mutate(services, review, {})
    return verdict.is === 'allowed' ? verdict.patch : verdict
  }
  await cluster.setBlock('clickhouse', { valuesPath: '_old' })
  await services.definitions.load()
  await cluster.setBlock('clickhouse', { valuesPath: '_new' })
  const [{ value } = { value: undefined }] = (await wiredBy(updateOf(release, {}))) as readonly {
    value: unknown
  }[]
  expect(JSON.stringify(value)).toContain('_new.')
  const wired = { ...release, spec: { ...release.spec, valuesFrom: value } } as HelmRelease
  // Another replica, which has read them before.
  await cluster.setBlock('clickhouse', { valuesPath: '_old' })
  await services.definitions.read()
  await cluster.setBlock('clickhouse', { valuesPath: '_new' })
  const annotated = { ...wired, metadata: { ...wired.metadata, annotations: { at: 'now' } } }
  expect(await wiredBy({ ...updateOf(wired, {}), object: annotated })).toEqual([])
})
