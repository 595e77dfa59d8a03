import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEntry } from '../../test/helpers/entry.ts'
import { startProgram } from '../../test/helpers/program.ts'
import { createBareClient } from '../bare-client.ts'
import type { StartApi } from '../start-api.ts'
import { type Context, SETTINGS } from './context.ts'
import { compared, type Finding, type Row, rounded } from './row.ts'

const MINTS = 100_000
const QUICK_MINTS = 2000
/** Whichever comes first: on a machine that is busy with others, fewer mints say the same. */
const MINTS_FOR_MS = 6 * 60_000
const CLIENTS = 8
const SAMPLES = 100
/** One account each: two mints of one at a time are a conflict. */
const USERS = Array.from({ length: CLIENTS }, (_, index) => `m${index}`)
/** In units of 10⁶ bytes. */
const MAX_IDLE_MB = 90
/** What counts as flat: of 100,000 mints, a MiB. */
const FLAT_KIB = 0.01
/** What a process that has just started still does is over by then. */
const SETTLED_MS = 2000
/** So that the API in memory does not grow itself. */
const EVENTS_AT_MOST = 5000

/** What a process holds while nothing happens, and whether that grows with mints. */
export const memory: Row = {
  name: 'memory',
  run: async (context) => [...(await idle(context)), ...(await afterMints(context))],
}

async function startOnSandbox(context: Context, api: StartApi) {
  const forProcess = async () => api.plain
  return startEntry({ forProcess }, SETTINGS, join(context.dist, 'node.js'))
}

async function idle(context: Context): Promise<readonly Finding[]> {
  const api = await context.sandbox()
  const ours: number[] = []
  const alone: number[] = []
  for (let round = 0; round < context.rounds(5); round += 1) {
    const script = 'console.log("up"); setInterval(() => 0, 60_000)'
    const node = await startProgram([process.execPath, '-e', script], { ready: /up/ })
    const entry = await startOnSandbox(context, api)
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

async function afterMints(context: Context): Promise<readonly Finding[]> {
  const api = await context.sandbox()
  const entry = await startOnSandbox(context, api)
  const mints = context.isQuick ? QUICK_MINTS : MINTS
  const send = createBareClient({ url: `http://127.0.0.1:${entry.port}`, token: api.callerToken })
  await api.addUsers(USERS)
  const before = api.calls.length
  const resident: number[] = []
  const until = performance.now() + MINTS_FOR_MS
  for (let sample = 0; sample < SAMPLES && performance.now() < until; sample += 1) {
    await mintMany(send, api, mints / SAMPLES)
    resident.push(await residentOf(entry.pid))
    if ((sample * mints) / SAMPLES > EVENTS_AT_MOST) await api.forgetEvents()
  }
  const writes = api.calls.slice(before).filter((call) => /^(POST|PUT) .*\/secrets/.test(call)).length
  await entry.stop()
  const done = resident.length * (mints / SAMPLES)
  if (writes !== done) throw new Error(`${done} mints were ${writes} writes`)
  const later = resident.slice(Math.floor(resident.length / 2))
  const perMint = (slopeOf(later) * 1024) / (mints / SAMPLES)
  const total = (perMint * 100_000) / 1024
  const at = (share: number) => rounded(resident[Math.floor(share * (resident.length - 1))] ?? Number.NaN)
  return [
    {
      what: `memory after ${done.toLocaleString('en')} mints, ${CLIENTS} at a time, the API in memory`,
      ours: `${at(1)} MiB; after a tenth ${at(0.1)}, a half ${at(0.5)}`,
    },
    {
      what: 'its slope over the second half',
      ours: `${perMint.toFixed(4)} KiB a mint, ${total.toFixed(1)} MiB in 100,000`,
      ...(context.isQuick ? {} : { goal: 'flat: ≤ 1 MiB in 100,000', isMet: perMint <= FLAT_KIB }),
    },
  ]
}

async function mintMany(
  send: ReturnType<typeof createBareClient>,
  { namespace, credential }: StartApi,
  count: number,
): Promise<void> {
  const [release] = credential.split('.')
  let left = count
  const path = (name: string) =>
    `/apis/core.cozystack.io/v1alpha1/namespaces/${namespace}/credentials/${name}/mint`
  await Promise.all(
    USERS.map(async (user) => {
      while (left > 0) {
        left -= 1
        await send('POST', path(`${release}.${user}`))
      }
    }),
  )
}

/** Of evenly spaced samples, by least squares: per sample. */
function slopeOf(samples: readonly number[]): number {
  const middle = (samples.length - 1) / 2
  const mean = samples.reduce((sum, each) => sum + each, 0) / samples.length
  const covariance = samples.reduce((sum, each, index) => sum + (index - middle) * (each - mean), 0)
  const variance = samples.reduce((sum, _, index) => sum + (index - middle) ** 2, 0)
  return covariance / variance
}

/** MiB, now or at its highest. */
export async function residentOf(pid: number, field: 'VmRSS' | 'VmHWM' = 'VmRSS'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
}
