import { describe, expect, test } from 'vitest'
import type { Fetch } from '../../src/core/deps.ts'
import { type KubeCallLabels, noMetrics } from '../../src/core/metrics.ts'
import { createKube } from '../../src/k8s/adapter.ts'
import type { Kube } from '../../src/k8s/kube.ts'
import type { StoredSecret } from '../../src/k8s/objects.ts'
import { sendOver } from '../../src/k8s/send.ts'
import { json, status } from './scripted-fetch.ts'

/** What no label may say. */
const NAMESPACE = 'tenant-acme'
const NAME = 'postgres-orders.web.account'
const names = /acme|orders|web|jane|token-of/

const secret: StoredSecret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: NAME, namespace: NAMESPACE, uid: 'u', resourceVersion: '1' },
}
const subject = { username: 'jane', uid: 'jane-1', groups: ['acme'], extra: {} }
const access = { verb: 'get', group: 'g', resource: 'credentials', namespace: NAMESPACE, name: NAME }
const regarding = { apiVersion: 'v1', kind: 'K', namespace: NAMESPACE, name: NAME, uid: 'u' }
const event = { type: 'Normal', reason: 'R', action: 'Mint', note: 'by jane', regarding } as const

interface Counted extends KubeCallLabels {
  readonly seconds: number
}

/** A port over this fetch, whose clock goes on by 40 milliseconds each time that it is read. */
function counting(fetch: Fetch): { readonly kube: Kube; readonly counted: readonly Counted[] } {
  const counted: Counted[] = []
  let time = 1000
  const kube = createKube({
    send: sendOver(fetch),
    timeoutMs: 50,
    reportingInstance: 'r',
    now: () => {
      time += 40
      return time
    },
    metrics: { ...noMetrics, kubeCall: (labels, seconds) => counted.push({ ...labels, seconds }) },
  })
  return { kube, counted }
}

describe('a call to the Kubernetes API is counted', () => {
  test.each<[string, (kube: Kube) => Promise<unknown>]>([
    ['get HelmRelease', (kube) => kube.getHelmRelease(NAMESPACE, NAME)],
    ['get Secret', (kube) => kube.getSecret(NAMESPACE, NAME)],
    ['get ConfigMap', (kube) => kube.getConfigMap(NAMESPACE, NAME)],
    ['list Secrets', (kube) => kube.listSecrets(NAMESPACE, { labelSelector: 'a=acme' })],
    ['list ApplicationDefinitions', (kube) => kube.listDefinitions()],
    ['create Secret', (kube) => kube.createSecret(secret)],
    ['update Secret', (kube) => kube.updateSecret(secret)],
    ['delete Secret', (kube) => kube.deleteSecret(NAMESPACE, NAME, secret.metadata)],
    ['create TokenReview', (kube) => kube.reviewToken('token-of-jane', ['mintonce'])],
    ['create SubjectAccessReview', (kube) => kube.reviewAccess(subject, access)],
    ['create Event', (kube) => kube.createEvent(event, 0)],
    ['get version', (kube) => kube.ping()],
  ])('by what it does, and by no name: %s', async (call, make) => {
    const { kube, counted } = counting(async () => json({}))
    await make(kube)
    expect(counted).toEqual([{ call, outcome: 'ok', seconds: expect.closeTo(0.04) }])
    expect(JSON.stringify(counted)).not.toMatch(names)
  })

  test.each<[KubeCallLabels['outcome'], Fetch]>([
    ['ok', async () => json(secret)],
    ['kube_conflict', async () => status(409, 'Conflict', { message: `of ${NAME}` })],
    ['kube_forbidden', async () => status(403, 'Forbidden', { message: 'jane may not' })],
    ['kube_error', async () => status(500, 'InternalError')],
    ['kube_unreachable', () => Promise.reject(new Error('token-of-jane'))],
    ['kube_timeout', () => new Promise(() => undefined)],
  ])('by how it ended: %s', async (outcome, fetch) => {
    const { kube, counted } = counting(fetch)
    await kube.updateSecret(secret)
    expect(counted).toEqual([{ call: 'update Secret', outcome, seconds: expect.closeTo(0.04) }])
  })

  test('that finds nothing', async () => {
    const { kube, counted } = counting(async () => status(404, 'NotFound', { details: { name: NAME } }))
    expect(await kube.getSecret(NAMESPACE, NAME)).toEqual({ ok: true, value: undefined })
    expect(counted).toMatchObject([{ call: 'get Secret', outcome: 'kube_absent' }])
  })

  test('page by page', async () => {
    const pages = [{ continue: 'more' }, {}].map((metadata) => ({
      kind: 'ApplicationDefinitionList',
      metadata,
      items: [],
    }))
    const { kube, counted } = counting(async () => json(pages.shift()))
    expect(await kube.listDefinitions()).toEqual({ ok: true, value: [] })
    expect(counted).toHaveLength(2)
  })
})
