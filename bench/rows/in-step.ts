import { startRealApiServer } from '../../test/contract/backends/real-api-server.ts'
import { interleaved } from '../figures.ts'
import { creates, type Group, prepareUpdates, updates } from '../in-step-calls.ts'
import { startInStepCluster } from '../in-step-cluster.ts'
import { sweepSamples } from '../in-step-sweep.ts'
import type { Context } from './context.ts'
import { compared, counted, type Finding, type Row } from './row.ts'

const ROUNDS = 60
const WARM_UP = 30
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
      for (const group of updates(cluster)) findings.push(...(await updateFindings(group, context)))
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
      const [first] = ours
      return [
        compared({ what, floor: 'the same lists, each page dropped', ...of('ms'), atMost: 1.5 }),
        compared({ what: 'its CPU time', floor: 'the same', ...of('cpuMs'), unit: 'ms of CPU' }),
        compared({ what: 'its memory at its highest', floor: 'the same', ...of('residentMiB'), unit: 'MiB' }),
        counted({
          what: 'its writes',
          count: first?.report?.synced ?? Number.NaN,
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

async function updateFindings(group: Group, context: Context): Promise<readonly Finding[]> {
  const samples = await samplesOf(group, context.rounds(ROUNDS), context.rounds(WARM_UP))
  const [, empty, reading, ours] = group.rows.map(({ name }) => samples[name] ?? [])
  const what = group.title
  return [
    compared({
      what,
      floor: 'an empty webhook',
      ours: ours ?? [],
      beside: empty ?? [],
      atMost: 1.3,
      ...(group.stoppedBy === undefined ? {} : { stoppedBy: group.stoppedBy }),
    }),
    compared({ what, floor: 'one that reads the definitions once', ours: ours ?? [], beside: reading ?? [] }),
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
