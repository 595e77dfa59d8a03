/**
 * A process that sweeps once, or only lists the same objects, and prints what that took as one line of JSON. What a
 * CronJob's pod does, without what starts it.
 */
import { readFileSync } from 'node:fs'
import { noMetrics } from '../src/core/metrics.ts'
import { type SweepReport, sweep } from '../src/credentials/sweep.ts'
import { createDefinitionLookup } from '../src/definitions/lookup.ts'
import { createKube } from '../src/k8s/adapter.ts'
import { inClusterSend } from '../src/k8s/node-in-cluster.ts'
import type { Send } from '../src/k8s/send.ts'
import { createBareClient } from './bare-client.ts'

/** What it does: `sweep`; `list`, each page dropped; or `keep`, all of them held until the end. */
type Task = 'sweep' | 'list' | 'keep'

export interface SweepSample {
  readonly calls: number
  /** Calls that are no GET. */
  readonly writes: number
  /** Of a list. */
  readonly items?: number
  readonly ms: number
  readonly cpuMs: number
  /** At its highest. */
  readonly residentMiB: number
  readonly report?: SweepReport
}

const { KUBE_URL: url = '', CA_FILE: caFile = '', TOKEN_FILE: tokenFile = '', TASK = 'sweep' } = process.env
const now = () => Date.now()
/** As a sweep asks for them (`PAGE_SIZE`). */
const PAGE = 500
let calls = 0
let writes = 0
const reach = inClusterSend({ url, caFile, tokenFile, now })
const send: Send = async (request) => {
  calls += 1
  if (request.method !== 'GET') writes += 1
  return reach(request)
}
const kube = createKube({ send, timeoutMs: 30_000, reportingInstance: 'bench', now, metrics: noMetrics })

const start = performance.now()
const cpu = process.cpuUsage()
const done = await doTask(TASK as Task)
const ms = performance.now() - start
const { user, system } = process.cpuUsage(cpu)
const sample: SweepSample = {
  calls,
  writes,
  ms,
  cpuMs: (user + system) / 1000,
  residentMiB: process.resourceUsage().maxRSS / 1024,
  ...done,
}
console.log(JSON.stringify(sample))
process.exit()

async function doTask(task: Task): Promise<Pick<SweepSample, 'report' | 'items'>> {
  if (task !== 'sweep') {
    return { items: await list(task === 'keep') }
  }
  const swept = await sweep(
    {
      kube,
      definitions: createDefinitionLookup({ kube, now, maxAgeMs: 30_000, timeoutMs: 30_000 }),
      deps: { now, randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)), log: () => {} },
      emit: () => {},
      graceMs: 600_000,
    },
    { by: 'bench' },
  )
  if (!swept.ok) throw new Error(swept.failure.reason)
  return { report: swept.value }
}

/** By a client that checks nothing, in the pages of a sweep. Answers how many HelmReleases and account Secrets there were. */
async function list(keeps: boolean): Promise<number> {
  const ca = caFile === '' ? {} : { ca: readFileSync(caFile, 'utf8') }
  const send = createBareClient({ url, token: readFileSync(tokenFile, 'utf8').trim(), ...ca })
  const kept: unknown[] = []
  const pagesOf = async (path: string, labelSelector: string): Promise<number> => {
    let next = ''
    let items = 0
    do {
      const query = new URLSearchParams({ labelSelector, limit: String(PAGE), continue: next })
      const page = await send('GET', `${path}?${query}`)
      calls += 1
      items += page.items.length
      if (keeps) kept.push(page.items)
      next = page.metadata.continue ?? ''
    } while (next !== '')
    return items
  }
  const known = await send('GET', '/apis/cozystack.io/v1alpha1/applicationdefinitions')
  calls += 1
  let items = await pagesOf('/api/v1/secrets', 'credentials.cozystack.io/account=true')
  for (const { spec } of known.items) {
    const ofKind = `apps.cozystack.io/application.kind=${spec.application.kind}`
    items += await pagesOf('/apis/helm.toolkit.fluxcd.io/v2/helmreleases', ofKind)
  }
  return items
}
