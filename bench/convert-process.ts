/**
 * A process that converts the releases of one namespace, as the hook's Job does without what starts it, or makes the same
 * calls with nothing between them; and prints what that took as one line of JSON.
 */

import { type FileDefinition, kindsToConvert } from '../src/conversion/definitions.ts'
import { hook } from '../src/conversion/hook.ts'
import { inTurns } from '../src/core/in-turns.ts'
import { noMetrics } from '../src/core/metrics.ts'
import { createKube } from '../src/k8s/adapter.ts'
import { createConversionKube } from '../src/k8s/adapter-conversion.ts'
import { inClusterSend } from '../src/k8s/node-in-cluster.ts'
import type { KubeRequest, Send } from '../src/k8s/send.ts'

export interface ConvertSample {
  readonly calls: number
  readonly ms: number
  readonly cpuMs: number
  /** At its highest. */
  readonly residentMiB: number
  readonly converted: number
}

/** What it is told, as JSON in `TASK`. */
export interface ConvertTask {
  /** `hook`; or `raw`, its calls alone. */
  readonly does: 'hook' | 'raw'
  /** Of the releases. */
  readonly namespace: string
  /** Of the record. */
  readonly platformNamespace: string
  readonly definition: FileDefinition
  readonly users: readonly string[]
  readonly concurrency: number
}

const { KUBE_URL: url = '', CA_FILE: caFile = '', TOKEN_FILE: tokenFile = '', TASK = '' } = process.env
const now = () => Date.now()
let calls = 0
const reach = inClusterSend({ url, caFile, tokenFile, now })
const send: Send = async (request) => {
  calls += 1
  return reach(request)
}

const task: ConvertTask = JSON.parse(TASK)
const start = performance.now()
const cpu = process.cpuUsage()
const converted = await (task.does === 'hook' ? convert(task) : callOnly(task))
const ms = performance.now() - start
const { user, system } = process.cpuUsage(cpu)
const sample: ConvertSample = {
  calls,
  ms,
  cpuMs: (user + system) / 1000,
  residentMiB: process.resourceUsage().maxRSS / 1024,
  converted,
}
console.log(JSON.stringify(sample))
process.exit()

async function convert({
  definition,
  namespace,
  platformNamespace,
  concurrency,
}: ConvertTask): Promise<number> {
  const kinds = kindsToConvert([definition], [], [])
  if (!kinds.ok) throw new Error(kinds.failure.reason)
  const ways = { send, timeoutMs: 30_000, now, metrics: noMetrics }
  const outcome = await hook(
    {
      kube: createKube({ ...ways, reportingInstance: 'bench' }),
      conversionKube: createConversionKube(ways),
      platformNamespace,
      deps: { now, randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)), log: () => {} },
      wait: async () => {},
    },
    { kinds: kinds.value, namespace, dryRun: false, concurrency },
  )
  if (outcome.is !== 'finished') throw new Error(JSON.stringify(outcome))
  return outcome.releases
    .flatMap(({ accounts }) => accounts)
    .filter(({ result }) => result === 'converted' || result === 'unchanged').length
}

/** The calls of a first run, as many at a time, and of each answer only that it is one. */
async function callOnly({ namespace, platformNamespace, users, concurrency }: ConvertTask): Promise<number> {
  const maps = `/api/v1/namespaces/${platformNamespace}/configmaps`
  const secrets = `/api/v1/namespaces/${namespace}/secrets`
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  await call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', review)
  const releases = await list(namespace)
  await call('GET', `${maps}/credential-conversion`)
  await call('GET', `${maps}/credential-conversion`)
  const data = Object.fromEntries(
    releases.map(({ name, uid }) => [`${namespace}.${name}`, `${uid}${'x'.repeat(120)}`]),
  )
  await call('POST', maps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'credential-conversion' },
    data,
  })
  await inTurns(releases, concurrency, async ({ name, uid }) => {
    for (const each of users) await call('GET', `${secrets}/${name}.${each}.account`)
    await call('GET', `${secrets}/${name}-credentials`)
    for (const each of users) await call('POST', secrets, secretOf(name, uid, each))
    await call('GET', `${secrets}/${name}-credentials`)
  })
  return releases.length * users.length
}

async function list(namespace: string) {
  const path = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases?limit=500`
  const found: { readonly name: string; readonly uid: string }[] = []
  for (let next: string | undefined = ''; next !== undefined; ) {
    const page = JSON.parse(await call('GET', `${path}&continue=${encodeURIComponent(next)}`))
    for (const { metadata } of page.items) found.push({ name: metadata.name, uid: metadata.uid })
    next = page.metadata.continue || undefined
  }
  return found
}

async function call(method: KubeRequest['method'], path: string, body?: object): Promise<string> {
  const sent =
    body === undefined
      ? { headers: {} }
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
  const { signal } = new AbortController()
  const { status, bytes } = await send({ method, path, ...sent, signal, maxBytes: 2 ** 25 })
  const text = new TextDecoder().decode(bytes)
  if (status >= 300 && status !== 404) throw new Error(`${method} ${path}: ${status} ${text}`)
  return text
}

function secretOf(release: string, uid: string, user: string) {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/basic-auth',
    metadata: {
      name: `${release}.${user}.account`,
      labels: { 'credentials.cozystack.io/account': 'true' },
      annotations: {
        'credentials.cozystack.io/origin': 'Migrated',
        'credentials.cozystack.io/release-uid': uid,
      },
    },
    data: { username: btoa(user), password: btoa('x'.repeat(133)) },
  }
}
