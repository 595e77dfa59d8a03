import { beforeAll, expect, test } from 'vitest'
import { isObject, type Json } from '../../src/core/json.ts'
import type { StoredSecret } from '../../src/k8s/objects.ts'
import {
  admissionAppOf,
  type Cluster,
  createOf,
  deleteOf,
  newRelease,
  startCluster,
  updateOf,
  wireOf,
} from '../helpers/admission.ts'
import { seeded } from '../helpers/fuzz-http.ts'
import { fuzzedReview, PASSWORD, pickFrom } from '../helpers/fuzz-reviews.ts'

const INPUTS = 3000

let cluster: Cluster
let app: Awaited<ReturnType<typeof admissionAppOf>>
let valid: readonly Json[]
beforeAll(async () => {
  cluster = startCluster()
  app = await admissionAppOf(cluster)
  const users = { web: { password: PASSWORD }, 'a/b~c': {}, report: null }
  const stored = await Promise.all(
    ['postgres-orders', 'clickhouse-events', 'redis-cache'].map(cluster.release),
  )
  valid = [
    wireOf(createOf(newRelease('Postgres', 'billing', { users }))),
    wireOf(createOf(newRelease('ClickHouse', 'logs', { users }))),
    wireOf(createOf(newRelease('Redis', 'queue', { authEnabled: true }))),
    ...stored.flatMap((release) => [
      wireOf(updateOf(release, { values: { users } })),
      wireOf(updateOf(release, { suspend: true })),
      wireOf(deleteOf(release)),
    ]),
  ]
})

const secrets = async (): Promise<readonly StoredSecret[]> => {
  const answer = await cluster.send('GET', '/api/v1/secrets')
  return ((await answer.json()) as { readonly items: readonly StoredSecret[] }).items
}

/** What was said to one review, and what is wrong with that. */
async function send(
  path: string,
  body: string,
): Promise<{ readonly said: string; readonly wrong: readonly string[] }> {
  const writes = cluster.writes().length
  const answer = await app.call(path, {
    method: 'POST',
    body,
    headers: { 'Content-Type': 'application/json' },
  })
  await app.afterwards()
  const text = await answer.text()
  const isAnswered = answer.status === 200
  const mayWrite = isAnswered && path.endsWith('validate')
  return {
    said: isAnswered ? `allowed: ${JSON.parse(text).response.allowed}` : String(answer.status),
    wrong: [
      ...(isAnswered || answer.status === 400 ? [] : [`an answer ${answer.status}`]),
      ...(text.includes(PASSWORD) ? ['an echo'] : []),
      ...(cluster.writes().length > writes && !mayWrite ? ['a write'] : []),
    ],
  }
}

const seed = Number(process.env.MINTONCE_FUZZ_SEED ?? Date.now() % 2 ** 32)

test(`of ${INPUTS} reviews at random none crashes, none is echoed, and nothing is written but seeds (${seed})`, async () => {
  const random = seeded(seed)
  const wrong: string[] = []
  const answers: string[] = []
  await cluster.putSecret(MINTED)
  const before = await secrets()
  for (let input = 0; input < INPUTS; input += 1) {
    const body = fuzzedReview(random, valid)
    const sent = await send(pickFrom(random, ['/admission/validate', '/admission/mutate']), body)
    answers.push(sent.said)
    for (const problem of sent.wrong)
      wrong.push(`MINTONCE_FUZZ_SEED=${seed}: ${problem}: ${body.slice(0, 4000)}`)
  }
  expect(wrong).toEqual([])
  const logged = cluster.logged.join('\n')
  expect(logged).not.toContain('crashed')
  expect(logged).not.toContain(PASSWORD)
  const after = await secrets()
  for (const secret of before) expect(after).toContainEqual(secret)
  const names = new Set(before.map(({ metadata }) => metadata.name))
  for (const { type, metadata } of after.filter((each) => !names.has(each.metadata.name))) {
    expect(type).toBe('kubernetes.io/basic-auth')
    expect(metadata.name).toMatch(/\.account$/)
    expect(metadata.annotations).toMatchObject({ 'credentials.cozystack.io/origin': 'NotIssued' })
  }
  // A generator that only ever produced noise, or only valid reviews, would prove little.
  for (const common of ['allowed: true', 'allowed: false', '400'])
    expect(answers.filter((each) => each === common).length, common).toBeGreaterThan(50)
}, 60_000)

/** Every place of a value, the outermost first. */
const placesIn = (value: unknown, depth = 0): readonly (readonly string[])[] =>
  isObject(value) && depth < 4
    ? Object.entries(value).flatMap(([key, inner]) => [
        [key],
        ...placesIn(inner, depth + 1).map((place) => [key, ...place]),
      ])
    : []

function without(value: unknown, [key = '', ...rest]: readonly string[]): unknown {
  if (!isObject(value)) return value
  if (rest.length > 0) return { ...value, [key]: without(value[key], rest) }
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
}

/** What may be gone together: a name is told in three places. */
const TOGETHER: readonly (readonly string[])[] = [
  ['request', 'name'],
  ['request', 'namespace'],
  ['request', 'object', 'metadata', 'name'],
  ['request', 'object', 'metadata', 'namespace'],
  ['request', 'object', 'metadata', 'uid'],
  ['request', 'oldObject', 'metadata', 'name'],
]
const SUBSETS = Array.from({ length: 2 ** TOGETHER.length }, (_, bits) =>
  TOGETHER.filter((_place, index) => (bits & (1 << index)) !== 0),
)

test('a review crashes nothing with any of its fields missing, nor with several of its names', async () => {
  const wrong: string[] = []
  for (const review of valid) {
    const variants = [...placesIn(review).map((place) => [place]), ...SUBSETS]
    for (const places of variants) {
      const body = JSON.stringify(places.reduce<unknown>(without, review))
      for (const path of ['/admission/validate', '/admission/mutate']) {
        const sent = await send(path, body)
        for (const problem of sent.wrong) wrong.push(`${problem}: ${path} without ${JSON.stringify(places)}`)
      }
    }
  }
  expect(wrong).toEqual([])
  expect(cluster.logged.join('\n')).not.toContain('crashed')
}, 60_000)

const MINTED = {
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'kubernetes.io/basic-auth',
  metadata: {
    name: 'postgres-billing.web.account',
    namespace: 'tenant-acme',
    annotations: {
      'credentials.cozystack.io/origin': 'Minted',
      'credentials.cozystack.io/release-uid': 'gone',
    },
  },
  data: { username: 'd2Vi', password: 'eA==' },
} as const
