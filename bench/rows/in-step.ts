import { startRealApiServer } from '../../test/contract/backends/real-api-server.ts'
import { interleaved, median } from '../figures.ts'
import { creates, type Group, prepareUpdates, updates } from '../in-step-calls.ts'
import { type InStepCluster, startInStepCluster } from '../in-step-cluster.ts'
import { sweepSamples } from '../in-step-sweep.ts'
import type { Context } from './context.ts'
import { compared, counted, type Finding, type Row, stoppedAt } from './row.ts'

const ROUNDS = 60
const WARM_UP = 20
const GOAL = { atMost: 1.3 }
const SERVERS = ['mintonce', 'allowing', 'reading'] as const
const OWN = "no floor: what is above it is the function's own"
const READS =
  'the same reads by a webhook that does nothing else: the definitions for each of two reviews, the release and its Secrets beside the second time'
const SWEEP_GOAL = { atMost: 1.5 }
const SWEEP = { releases: 1000, rounds: 5 }
const QUICK_SWEEP = { releases: 20, rounds: 1 }

/** What kube-apiserver waits for when it asks us about an application. `npm run bench:in-step` has more of it. */
export const admission: Row = {
  name: 'admission',
  run: async (context) => {
    const cluster = await startInStepCluster()
    try {
      await prepareUpdates(cluster)
      const findings: Finding[] = []
      for (const [index, group] of updates(cluster).entries())
        findings.push(...(await updateFindings(cluster, group, index > 0, context)))
      findings.push(...(await createFindings(creates(cluster, 10), context)))
      return findings
    } finally {
      await cluster.stop()
    }
  },
}

/** In a control plane of its own, where there is nothing else to be listed. */
export const sweep: Row = {
  name: 'sweep',
  run: async ({ isQuick }) => {
    const api = await startRealApiServer()
    try {
      const how = isQuick ? QUICK_SWEEP : SWEEP
      const { list, sweep: ours } = await sweepSamples(api, how)
      const what = `a sweep over ${how.releases} releases of 5 accounts, nothing to do`
      const of = (unit: 'ms' | 'cpuMs' | 'residentMiB') => ({
        ours: ours.map((sample) => sample[unit]),
        beside: list.map((sample) => sample[unit]),
      })
      return [
        compared({
          what,
          floor: 'the same lists, raw, each page dropped',
          ...of('ms'),
          ...SWEEP_GOAL,
          stoppedBy: OWN,
        }),
        compared({ what: 'its CPU time', floor: 'the same', ...of('cpuMs'), unit: 'ms of CPU' }),
        compared({ what: 'its memory at its highest', floor: 'the same', ...of('residentMiB'), unit: 'MiB' }),
        counted({
          what: 'its writes, in all rounds',
          count: ours.reduce((sum, { writes }) => sum + writes, 0),
          expected: 0,
          unit: 'writes',
        }),
      ]
    } finally {
      await api.stop()
    }
  },
}

const samplesOf = ({ rows }: Group, rounds: number, warmUp: number) =>
  interleaved(Object.fromEntries(rows.map(({ name, run }) => [name, run])), { rounds, warmUp })

/** `reads`: the answer may refuse a write, so the function reads all that it judges by afresh. */
async function updateFindings(
  cluster: InStepCluster,
  group: Group,
  reads: boolean,
  context: Context,
): Promise<readonly Finding[]> {
  const asked = () => Promise.all(SERVERS.map(cluster.reviews))
  const before = await asked()
  const [rounds, warmUp] = [context.rounds(ROUNDS), context.rounds(WARM_UP)]
  const samples = await samplesOf(group, rounds, warmUp)
  const reviews = (await asked()).map((count, index) => count - (before[index] ?? 0))
  const updates = rounds + warmUp
  const [, empty, reading, ours] = group.rows.map(({ name }) => samples[name] ?? [])
  const what = group.title
  return [
    compared({
      what,
      floor: 'an empty webhook',
      ours: ours ?? [],
      beside: empty ?? [],
      ...GOAL,
      stoppedBy: reads ? stoppedAt(median(reading ?? []) / median(empty ?? []), GOAL, READS) : OWN,
    }),
    ...(reads ? [compared({ what, floor: READS, ours: ours ?? [], beside: reading ?? [] })] : []),
    // They let everything pass when nobody answers: an update that was not asked about would be a quick one.
    ...SERVERS.map((server, index) =>
      counted({
        what: `reviews that ${server} has answered for ${updates} updates`,
        count: reviews[index] ?? 0,
        expected: 2 * updates,
        unit: 'reviews',
      }),
    ),
  ]
}

async function createFindings(group: Group, context: Context): Promise<readonly Finding[]> {
  const samples = await samplesOf(group, context.rounds(Math.ceil(ROUNDS / 5)), context.rounds(10))
  const [raw, hashed, ours] = group.rows.map(({ name }) => samples[name] ?? [])
  return [
    compared({ what: group.title, floor: 'the same writes, raw', ours: ours ?? [], beside: raw ?? [] }),
    compared({
      what: group.title,
      floor: 'the same writes and hashes',
      ours: ours ?? [],
      beside: hashed ?? [],
    }),
  ]
}
