import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEntry } from '../../test/helpers/entry.ts'
import { startProgram } from '../../test/helpers/program.ts'
import { createBareClient } from '../bare-client.ts'
import { imageFlags } from '../image-flags.ts'
import { INSPECTED, openLiveHeap } from '../live-heap.ts'
import { type Growth, growthOf, type Minting } from '../many-mints.ts'
import type { StartApi } from '../start-api.ts'
import { startBareServer } from './bare-server.ts'
import { type Context, SETTINGS } from './context.ts'
import { compared, type Finding, type Row, rounded } from './row.ts'

const MINTS = 100_000
const QUICK_MINTS = 1000
/** Of each process, whichever comes first: on a machine that is busy with others, fewer mints say the same. */
const MINTS_FOR_MS = 5 * 60_000
const SAMPLES = 100
const USERS = Array.from({ length: 8 }, (_, index) => `m${index}`)
const GROUP = 'core.cozystack.io'
/** In units of 10⁶ bytes. */
const MAX_IDLE_MB = 90
/** What counts as flat, of 100,000 mints. */
const FLAT_MIB = 1
/** What a process that has just started still does is over by then. */
const SETTLED_MS = 2000
/** Of deploy/: by what it finds there, Node sets the limits of its heap. */
const CONTAINER_MIB = 256

/** What a process holds while nothing happens, and whether that grows with mints. */
export const memory: Row = {
  name: 'memory',
  run: async (context) => [...(await idle(context)), ...(await afterMints(context))],
}

async function idle(context: Context): Promise<readonly Finding[]> {
  const api = await context.sandbox()
  const flags = await flagsInContainer()
  const ours: number[] = []
  const alone: number[] = []
  for (let round = 0; round < context.rounds(5); round += 1) {
    const script = 'console.log("up"); setInterval(() => 0, 60_000)'
    const node = await startProgram([process.execPath, ...flags, '-e', script], { ready: /up/ })
    const entry = await startFunction(context, api)
    const answer = await fetch(`http://127.0.0.1:${entry.port}/readyz`)
    if (!answer.ok) throw new Error(`not ready: ${answer.status}`)
    await answer.text()
    await sleep(SETTLED_MS)
    alone.push(await residentOf(node.pid))
    ours.push(await residentOf(entry.pid))
    await entry.stop()
    await node.stop()
  }
  const found = compared({
    what: 'idle memory, ready',
    floor: 'Node, idle',
    ours,
    beside: alone,
    unit: 'MiB',
  })
  const most = Math.max(...ours)
  return [
    {
      ...found,
      goal: `≤ ${MAX_IDLE_MB} MB, the largest of them`,
      isMet: (most * 2 ** 20) / 1e6 <= MAX_IDLE_MB,
    },
  ]
}

/**
 * As the image runs it, with the heap that Node takes in the container that ships, beside a bare server. And once more with an
 * inspector, by which the garbage is collected before each reading: what that leaves is what somebody keeps.
 */
async function afterMints(context: Context): Promise<readonly Finding[]> {
  const api = await context.sandbox()
  await api.addUsers(USERS)
  const [release] = api.credential.split('.')
  const plan = {
    mints: context.isQuick ? QUICK_MINTS : MINTS,
    forMs: MINTS_FOR_MS,
    credentials: USERS.map((user) => `${release}.${user}`),
    samples: SAMPLES,
  }
  // Before the bare server, which does not create an account.
  const ours = await growthOf(await startOurs(context, api), api, plan)
  const bare = await growthOf(await startBare(api, plan.credentials), api, plan)
  const live = await growthOf(await startInspected(context, api), api, {
    ...plan,
    mints: plan.mints / 2,
  })
  const goal = (growth: Growth) =>
    context.isQuick ? {} : { goal: `flat: ≤ ${FLAT_MIB} MiB in 100,000`, isMet: isFlat(growth) }
  const floor = 'a bare server: its calls, its hash, its Event; with what strips its types'
  const stoppedBy = `the bare server as well, ${slopeOf(bare)}`
  return [
    {
      what: `memory after ${counted(ours)} mints, ${USERS.length} at a time, with the heap of a container of ${CONTAINER_MIB}Mi; the API in memory, over HTTPS`,
      ours: courseOf(ours),
      floor,
      beside: courseOf(bare),
    },
    {
      what: 'its slope over the second half',
      ours: slopeOf(ours),
      floor,
      beside: slopeOf(bare),
      ...goal(ours),
      ...(isFlat(ours) || isFlat(bare) ? {} : { stoppedBy }),
    },
    {
      what: `what is left of it when garbage is collected, after ${counted(live)} mints of another process`,
      ours: courseOf(live),
    },
    { what: 'its slope over the second half', ours: slopeOf(live), ...goal(live) },
  ]
}

/** As the image starts it, with the old space that Node gives itself in the container: what V8 says of its limit is the same. */
const flagsInContainer = async () => [...(await imageFlags()), `--max-old-space-size=${CONTAINER_MIB}`]

/** In front of the API in memory, over HTTPS. */
async function startFunction({ dist }: Context, { secure }: StartApi, more: readonly string[] = []) {
  const flags = [...(await flagsInContainer()), ...more]
  return startEntry({ forProcess: async () => secure }, SETTINGS, {
    file: join(dist, 'node.js'),
    flags,
  })
}

function minterOf({ callerToken, namespace }: StartApi, port: number) {
  const send = createBareClient({ url: `http://127.0.0.1:${port}`, token: callerToken })
  const path = `/apis/${GROUP}/v1alpha1/namespaces/${namespace}/credentials`
  return (credential: string) => send('POST', `${path}/${credential}/mint`)
}

async function startOurs(context: Context, api: StartApi): Promise<Minting> {
  const { pid, port, stop } = await startFunction(context, api)
  return { mint: minterOf(api, port), read: () => residentOf(pid), stop }
}

async function startInspected(context: Context, api: StartApi): Promise<Minting> {
  const { port, stop, output } = await startFunction(context, api, [INSPECTED])
  const { read, close } = await openLiveHeap(output())
  const end = async () => {
    await close()
    await stop()
  }
  return { mint: minterOf(api, port), read, stop: end }
}

async function startBare(api: StartApi, credentials: readonly string[]): Promise<Minting> {
  const { namespace, callerToken, secure } = api
  const [release = ''] = api.credential.split('.')
  const served = credentials.map((credential) => ({
    namespace,
    release,
    credential,
    group: GROUP,
    caller: { token: callerToken },
    isHashed: true,
    hasEvent: true,
  }))
  const { pid, mint, stop } = await startBareServer({ forProcess: async () => secure }, served, {
    flags: await flagsInContainer(),
  })
  return {
    mint: (credential) => mint(credentials.indexOf(credential)),
    read: () => residentOf(pid),
    stop,
  }
}

const counted = ({ mints }: Growth) => mints.toLocaleString('en')

/** Told apart from a steeper one: with two standard errors more. */
const isFlat = ({ slope, error }: Growth): boolean => slope + 2 * error <= FLAT_MIB

const slopeOf = ({ slope, error }: Growth) => `${slope.toFixed(2)} ± ${error.toFixed(2)} MiB in 100,000`

function courseOf({ samples }: Growth): string {
  const at = (share: number) => rounded(samples[Math.floor(share * (samples.length - 1))] ?? Number.NaN)
  return `${at(1)} MiB; after a tenth ${at(0.1)}, a half ${at(0.5)}`
}

/** MiB, now or at its highest. */
export async function residentOf(pid: number, field: 'VmRSS' | 'VmHWM' = 'VmRSS'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
}
