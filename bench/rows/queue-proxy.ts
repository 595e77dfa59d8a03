import { join } from 'node:path'
import { startQueueProxy } from '../../test/cluster/queue-proxy-process.ts'
import { backendOf } from '../../test/contract/backends/node-process.ts'
import { createTenant } from '../../test/contract/tenant.ts'
import { freePorts } from '../../test/control-plane/ports.ts'
import { createBareClient } from '../bare-client.ts'
import { interleaved, timed } from '../figures.ts'
import { startAsImage } from '../image-flags.ts'
import { startEmpty, startToMint } from '../start-scenarios.ts'
import { type Context, SETTINGS } from './context.ts'
import { PAUSE_MS } from './mint.ts'
import { compared, type Finding, type Row } from './row.ts'

const ROUNDS = 200
const START_ROUNDS = 25
const CREDENTIAL = 'postgres-orders.web'

/** Knative's own sidecar between the caller and the function. */
export const queueProxy: Row = {
  name: 'queue-proxy',
  run: async (context) => {
    const { behind, directly, cold } = await prepare(context)
    const samples = await interleaved(
      {
        behind: () => timed(behind.mint),
        directly: () => timed(directly.mint),
        hopBehind: () => timed(behind.hop),
        hop: () => timed(directly.hop),
      },
      { rounds: context.rounds(ROUNDS), warmUp: context.rounds(60), pauseMs: PAUSE_MS },
    )
    return [
      compared({
        what: "mint through Knative's queue-proxy",
        floor: 'the same without it',
        ours: samples.behind,
        beside: samples.directly,
      }),
      compared({
        what: '`GET /version` through it',
        floor: 'the same without it',
        ours: samples.hopBehind,
        beside: samples.hop,
      }),
      ...(await starts(context, cold)),
    ]
  },
}

interface Cold {
  /** Nobody listens there from now on: it is what the queue-proxy forwards to. */
  readonly free: () => Promise<number>
  /** The port of the queue-proxy. */
  readonly through: string
}

/** The API in memory, as for the row `start`. The queue-proxy is there already: what it takes to start is Knative's. */
async function starts(context: Context, { free, through }: Cold): Promise<readonly Finding[]> {
  const api = await context.sandbox()
  const port = await free()
  const args = [join(context.dist, 'node.js')]
  // The account exists from here on: every mint replaces its password.
  await startToMint(api, { args })
  const samples = await interleaved(
    {
      ours: () => startToMint(api, { args, port, through }),
      empty: () => startEmpty(api, { port, through }),
      directly: () => startToMint(api, { args, port }),
    },
    { rounds: context.rounds(START_ROUNDS) },
  )
  const wall = (name: keyof typeof samples) => samples[name].map(({ wallMs }) => wallMs)
  const what = 'spawn to the first minted password through it'
  return [
    compared({
      what,
      floor: 'an empty handler of Node, through it',
      ours: wall('ours'),
      beside: wall('empty'),
    }),
    compared({ what, floor: 'the same without it', ours: wall('ours'), beside: wall('directly') }),
  ]
}

async function prepare(context: Context) {
  const api = await context.api()
  const [port = 0] = await freePorts(1)
  const entry = await startAsImage(api, { ...SETTINGS, PORT: String(port) }, join(context.dist, 'node.js'))
  context.atEnd(entry.stop)
  const queue = await startQueueProxy(port, api.plane.folder)
  context.atEnd(queue.stop)
  const tenant = await createTenant(backendOf(api, entry))
  await tenant.release('Postgres', 'orders', { users: { web: {} } })
  const callsTo = (url: string) => {
    const send = createBareClient({ url, token: tenant.tokens.admin })
    return {
      mint: () => send('POST', tenant.path(CREDENTIAL, 'mint')),
      hop: () => send('GET', '/version'),
    }
  }
  const cold: Cold = {
    free: async () => {
      await entry.stop()
      return port
    },
    through: new URL(queue.origin).port,
  }
  return { cold, behind: callsTo(queue.origin), directly: callsTo(`http://127.0.0.1:${port}`) }
}
