/**
 * What account Secrets that follow their applications cost, on a real kube-apiserver, beside the least that could be
 * asked of it in the same run: `npm run bench:in-step`, or `npm run bench:in-step -- --quick` to see that it runs.
 * Needs Go, as `npm run test:cluster` does. Medians, p95, and × what each is beside.
 */
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { startRealApiServer } from '../test/contract/backends/real-api-server.ts'
import { startSandboxApiServer } from '../test/contract/backends/sandbox-api-server.ts'
import { seeded, show, shuffled } from './figures.ts'
import { creates, type Group, prepareUpdates, syncs, updates } from './in-step-calls.ts'
import { startInStepCluster } from './in-step-cluster.ts'
import { sweeps } from './in-step-sweep.ts'

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
const ROUNDS = values.quick ? 3 : 60
const WARM_UP = values.quick ? 1 : 30
const SWEEP = values.quick ? { releases: 20, rounds: 1 } : { releases: 1000, rounds: 5 }

const sandbox = await startSandboxApiServer()
try {
  await sweeps('the API in memory', sandbox, SWEEP)
} finally {
  await sandbox.stop()
}

const real = await startRealApiServer()
try {
  await sweeps('kube-apiserver', real, SWEEP)
} finally {
  await real.stop()
}

const cluster = await startInStepCluster()
try {
  await prepareUpdates(cluster)
  for (const group of updates(cluster)) await measure(group, ROUNDS)
  await measure(syncs(cluster), ROUNDS)
  for (const count of [1, 10, 100])
    await measure(creates(cluster, count), Math.ceil(ROUNDS / (count > 10 ? 5 : 2)))
} finally {
  await cluster.stop()
}

/** One after the other in each round. V8 compiles what has run a hundred times or so: the first rounds do not count. */
async function measure({ title, rows }: Group, rounds: number): Promise<void> {
  const random = seeded()
  const warmUp = Math.min(rounds, WARM_UP)
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const { run, samples } of shuffled(rows, random)) {
      const ms = await run()
      if (round >= 0) samples.push(ms)
    }
  }
  console.log(
    `\n${title}, ${rounds} rounds, load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} CPUs`,
  )
  for (const { name, samples, beside } of rows) show(name, samples, beside?.samples)
}
