import { inTurns } from '../../src/core/in-turns.ts'
import { bareEvent, bareScram, mintBare } from '../bare-calls.ts'
import { interleaved, median } from '../figures.ts'
import { cpuOf, cpuOfStarted } from '../processes.ts'
import { startBareServer } from './bare-server.ts'
import { createCaller, type MintCaller } from './caller.ts'
import type { Context } from './context.ts'
import { compared, figure, type Row, stoppedAt } from './row.ts'

const CLIENTS = 32
const ROUNDS = 12
/** Of one sample. */
const MINTS = 640
const GOAL = { atLeast: 0.8 }

interface Sample {
  readonly perSecond: number
  readonly cpuMs: number
  /** Of kube-apiserver, and of etcd: what they do for others meanwhile is in it. */
  readonly apiMs: number
  readonly etcdMs: number
}

/** As many mints as go with 32 clients at once, each with accounts of its own, and what one costs the function. */
export const throughput: Row = {
  name: 'throughput',
  run: async (context) => {
    const { entry } = await context.function()
    const caller = await createCaller(await context.function())
    const names = Array.from({ length: CLIENTS }, (_, index) => `u${index}`)
    const users = Object.fromEntries(names.map((name) => [name, {}]))
    await caller.tenant.release('Postgres', 'orders', { users })
    const credentials = names.map((name) => `postgres-orders.${name}`)
    await inTurns(credentials, CLIENTS, caller.fill)

    const mints = context.isQuick ? 2 * CLIENTS : MINTS
    const sample = (mint: (credential: string) => Promise<unknown>, cpuOf: () => Promise<number>) =>
      measure(credentials, mints, mint, cpuOf)
    const raw = await rawMint(context, caller)
    const bare = await startBareServer(
      await context.api(),
      credentials.map((credential) => ({
        ...caller.rawOf(credential),
        caller: { token: caller.tenant.tokens.admin },
        isHashed: true,
        hasEvent: true,
      })),
    )
    context.atEnd(bare.stop)
    const own = async () => process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000
    const samples = await interleaved(
      {
        raw: () => sample((credential) => raw(credential, 'plain'), own),
        hashed: () => sample((credential) => raw(credential, 'hashed'), own),
        events: () => sample((credential) => raw(credential, 'event'), own),
        server: () =>
          sample(
            (credential) => bare.mint(credentials.indexOf(credential)),
            () => cpuOf(bare.pid),
          ),
        ours: () => sample(caller.mint, () => cpuOf(entry.pid)),
      },
      { rounds: context.rounds(ROUNDS), pauseMs: 300 },
    )
    return findings(samples)
  },
}

/** The calls of a mint, its hash when asked, and the Event that follows it. */
async function rawMint(context: Context, { tenant, rawOf }: MintCaller) {
  const bare = await context.bare()
  const caller = { token: tenant.tokens.admin }
  let events = 0
  return async (credential: string, how: 'plain' | 'hashed' | 'event') => {
    const hash = how === 'plain' ? {} : { hash: bareScram }
    await mintBare(bare, { ...rawOf(credential), caller, ...hash })
    if (how !== 'event') return
    events += 1
    const { namespace } = tenant
    await bare(
      'POST',
      `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
      bareEvent(namespace, String(events)),
    )
  }
}

async function measure(
  credentials: readonly string[],
  mints: number,
  mint: (credential: string) => Promise<unknown>,
  cpuOf: () => Promise<number>,
): Promise<Sample> {
  // To look at every process costs this one something: what counts its own CPU is read after that, and before it at the end.
  const apiBefore = await cpuOfStarted('kube-apiserver')
  const etcdBefore = await cpuOfStarted('etcd')
  const before = await cpuOf()
  const start = performance.now()
  await Promise.all(
    credentials.map(async (credential) => {
      for (let done = 0; done < mints / credentials.length; done += 1) await mint(credential)
    }),
  )
  const seconds = (performance.now() - start) / 1000
  const cpuMs = ((await cpuOf()) - before) / mints
  const apiMs = ((await cpuOfStarted('kube-apiserver')) - apiBefore) / mints
  const etcdMs = ((await cpuOfStarted('etcd')) - etcdBefore) / mints
  return { perSecond: mints / seconds, cpuMs, apiMs, etcdMs }
}

function findings({ raw, hashed, events, server, ours }: Readonly<Record<string, readonly Sample[]>>) {
  const rate = (samples: readonly Sample[] = []) => samples.map(({ perSecond }) => perSecond)
  const cpu = (samples: readonly Sample[] = []) => samples.map(({ cpuMs }) => cpuMs)
  const api = (samples: readonly Sample[] = []) => samples.map(({ apiMs }) => apiMs)
  const etcd = (samples: readonly Sample[] = []) => samples.map(({ etcdMs }) => etcdMs)
  const most = median(rate(server)) / median(rate(raw))
  return [
    compared({
      what: `mints a second, ${CLIENTS} clients`,
      floor: `the calls, raw, ${CLIENTS} clients`,
      ours: rate(ours),
      beside: rate(raw),
      unit: '/s',
      ...GOAL,
      stoppedBy: stoppedAt(most, GOAL, 'a bare server that makes the calls, the hash and the Event'),
    }),
    compared({
      what: 'the same',
      floor: 'the calls and the hash, raw',
      ours: rate(ours),
      beside: rate(hashed),
      unit: '/s',
    }),
    compared({
      what: 'the same',
      floor: 'the calls, the hash and the Event, raw',
      ours: rate(ours),
      beside: rate(events),
      unit: '/s',
    }),
    compared({
      what: 'the same',
      floor: 'a bare server: calls, hash and Event',
      ours: rate(ours),
      beside: rate(server),
      unit: '/s',
    }),
    compared({
      what: 'CPU time of the function, one mint',
      floor: 'of a bare client: calls, hash and Event',
      ours: cpu(ours),
      beside: cpu(events),
      unit: 'ms of CPU',
    }),
    compared({
      what: 'the same',
      floor: 'of that bare server',
      ours: cpu(ours),
      beside: cpu(server),
      unit: 'ms of CPU',
    }),
    { what: 'CPU time of a bare client, the calls alone', ours: figure(cpu(raw), 'ms of CPU') },
    {
      what: 'CPU time of kube-apiserver, one mint',
      ours: figure(api(ours), 'ms of CPU'),
    },
    {
      what: 'CPU time of etcd, one mint',
      ours: figure(etcd(ours), 'ms of CPU'),
    },
  ]
}
