import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Serving, serve } from '../../src/node-server.ts'
import { fuzzedRequest, seeded } from '../helpers/fuzz-http.ts'
import { connectTo, type Heard, hear } from '../helpers/raw-http.ts'
import { CREDENTIALS, GROUP, scriptedApp, TOKEN } from '../helpers/scripted-app.ts'

const INPUTS = 2000
const AT_ONCE = 20
/** Until an unfinished request is ended from our side. */
const UNFINISHED_MS = 150

/** None of them is an account: whatever is made of these paths, nothing is to be written. */
const paths: [string, ...string[]] = [
  `${CREDENTIALS}/postgres-orders.nobody/mint`,
  `${CREDENTIALS}/postgres-orders.nobody/mint`,
  `${CREDENTIALS}/postgres-orders.nobody/revoke`,
  `${CREDENTIALS}/postgres-orders.nobody`,
  CREDENTIALS,
  `/apis/${GROUP}/v1alpha1/credentials`,
  '/livez',
  '/readyz',
  '/version',
  '/',
]

const api = scriptedApp()
let serving: Serving
beforeAll(async () => {
  serving = await serve({
    app: api.app,
    group: GROUP,
    port: 0,
    address: '127.0.0.1',
    drainMs: 0,
    log: () => undefined,
  })
})
afterAll(() => serving.stop())

async function exchange(request: string): Promise<Heard> {
  const socket = await connectTo(serving.port)
  socket.on('error', () => undefined)
  const heard = hear(socket)
  socket.write(Buffer.from(request, 'latin1'))
  const end = setTimeout(() => socket.end(), UNFINISHED_MS)
  const answer = await heard
  clearTimeout(end)
  socket.destroy()
  return answer
}

/** What is wrong with an answer; undefined when nothing is. */
function wrongWith(heard: Heard): string | undefined {
  if (heard.is === 'closed') return undefined
  if (heard.is === 'silent') return 'neither an answer nor a close'
  if (heard.status >= 500) return `an answer ${heard.status}: ${heard.body}`
  if (heard.status < 400 || heard.status === 417) return undefined
  const isStatus = heard.body === '' || /^\{"kind":"Status",/.test(heard.body)
  return isStatus ? undefined : `an answer ${heard.status} that is no Status: ${heard.body}`
}

test(`of ${INPUTS} requests at random none is a 500, none is left without an answer or a close, and none writes`, async () => {
  const seed = Number(process.env.MINTONCE_FUZZ_SEED ?? Date.now() % 2 ** 32)
  const random = seeded(seed)
  const requests = Array.from({ length: INPUTS }, () => fuzzedRequest(random, { paths, token: TOKEN }))
  const statuses = new Map<string, number>()
  const wrong: string[] = []
  for (let i = 0; i < requests.length; i += AT_ONCE) {
    await Promise.all(
      requests.slice(i, i + AT_ONCE).map(async (request) => {
        const heard = await exchange(request)
        const status = heard.is === 'answer' ? String(heard.status) : heard.is
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        const problem = wrongWith(heard)
        if (problem !== undefined)
          wrong.push(`MINTONCE_FUZZ_SEED=${seed}: ${JSON.stringify(request)}: ${problem}`)
      }),
    )
  }
  expect(wrong).toEqual([])
  expect(api.writes(), `MINTONCE_FUZZ_SEED=${seed}`).toBe(0)
  expect(
    api.logged.filter(({ event }) => event === 'crashed'),
    `MINTONCE_FUZZ_SEED=${seed}`,
  ).toEqual([])
  // A generator that only ever produced noise, or only valid requests, would prove little.
  for (const common of ['200', '400', '404', '405'])
    expect(statuses.get(common) ?? 0, common).toBeGreaterThan(20)
})
