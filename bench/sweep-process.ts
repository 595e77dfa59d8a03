/**
 * A process that sweeps once, or only lists the same objects, and prints what that took as one line of JSON. What a
 * CronJob's pod does, without what starts it.
 */

import type { Fetch } from '../src/core/deps.ts'
import { textAt } from '../src/core/json.ts'
import { noMetrics } from '../src/core/metrics.ts'
import { type SweepReport, sweep } from '../src/credentials/sweep.ts'
import { createDefinitionLookup } from '../src/definitions/lookup.ts'
import { createKube } from '../src/k8s/adapter.ts'
import type { Kube } from '../src/k8s/kube.ts'
import { listAll } from '../src/k8s/list-all.ts'
import { inClusterFetch } from '../src/k8s/node-in-cluster.ts'

/** What it does: `sweep`; `list`, each page dropped; or `keep`, all of them held until the end. */
type Task = 'sweep' | 'list' | 'keep'

export interface SweepSample {
  readonly calls: number
  readonly ms: number
  readonly cpuMs: number
  /** At its highest. */
  readonly residentMiB: number
  readonly report?: SweepReport
}

const { KUBE_URL: url = '', CA_FILE: caFile = '', TOKEN_FILE: tokenFile = '', TASK = 'sweep' } = process.env
const now = () => Date.now()
let calls = 0
const reach = inClusterFetch({ url, caFile, tokenFile, now })
const fetch: Fetch = async (request) => {
  calls += 1
  return reach(request)
}
const kube = createKube({ fetch, timeoutMs: 30_000, reportingInstance: 'bench', now, metrics: noMetrics })

const start = performance.now()
const cpu = process.cpuUsage()
const done = await doTask(TASK as Task)
const ms = performance.now() - start
const { user, system } = process.cpuUsage(cpu)
const sample: SweepSample = {
  calls,
  ms,
  cpuMs: (user + system) / 1000,
  residentMiB: process.resourceUsage().maxRSS / 1024,
  ...done,
}
console.log(JSON.stringify(sample))
process.exit()

async function doTask(task: Task): Promise<Pick<SweepSample, 'report'>> {
  if (task !== 'sweep') {
    await list(kube, task === 'keep')
    return {}
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

async function list({ listDefinitions, listSecrets, listHelmReleases }: Kube, keeps: boolean): Promise<void> {
  const kept: unknown[] = []
  const keep = <T>(item: T) => (keeps ? item : undefined)
  const known = await listDefinitions()
  if (!known.ok) throw new Error(known.failure.reason)
  const ofAccounts = { labelSelector: 'credentials.cozystack.io/account=true' }
  kept.push(await listAll((page) => listSecrets(undefined, page), ofAccounts, keep))
  for (const { spec } of known.value) {
    const kind = textAt(spec, 'application', 'kind')
    const ofKind = { labelSelector: `apps.cozystack.io/application.kind=${kind}` }
    kept.push(await listAll((page) => listHelmReleases(undefined, page), ofKind, keep))
  }
}
