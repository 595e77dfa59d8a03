import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import {
  ADMIN_TOKEN,
  EXAMPLE_MINT,
  type ExampleApiServer,
  startExampleApiServer,
} from '../helpers/example-api-server.ts'
import { connectTo, hear } from '../helpers/raw-http.ts'

const ENTRY = join(import.meta.dirname, '../../src/node.ts')
const HOST = 'Host: mintonce.test\r\n'
const LIVEZ = `GET /livez HTTP/1.1\r\n${HOST}\r\n`
const MINT = `POST ${EXAMPLE_MINT} HTTP/1.1\r\n${HOST}Authorization: Bearer ${ADMIN_TOKEN}\r\nContent-Length: 0\r\n\r\n`

const isReview = (path: string) => path.endsWith('/subjectaccessreviews')
const isEvent = (path: string) => path.endsWith('/events')
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

interface Running {
  readonly port: number
  readonly api: ExampleApiServer
  readonly signal: (signal: 'SIGTERM' | 'SIGINT') => void
  /** The exit code, and how many milliseconds after the signal it came. */
  readonly exited: Promise<{ readonly code: number | null; readonly afterMs: number }>
  readonly output: () => string
}

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  await Promise.all(cleanups.splice(0).map((clean) => clean()))
})

/** The entry that ships, in front of an API server whose calls take as long as `delayMs` says. */
async function start(drainSeconds: number, delayMs: (path: string) => number): Promise<Running> {
  const api = await startExampleApiServer(delayMs)
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-shutdown.'))
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'of-the-function')
  const child = spawn(process.execPath, [ENTRY], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      MINTONCE_LISTEN_ADDRESS: '127.0.0.1',
      MINTONCE_DRAIN_SECONDS: String(drainSeconds),
      MINTONCE_KUBE_URL: api.url,
      MINTONCE_KUBE_TOKEN_FILE: tokenFile,
    },
  })
  cleanups.push(
    () => child.kill('SIGKILL'),
    api.stop,
    () => rm(folder, { recursive: true }),
  )
  const output = outputOf(child)
  let signalledAt = 0
  const exited = new Promise<{ code: number | null; afterMs: number }>((resolve) => {
    child.once('exit', (code) => resolve({ code, afterMs: Date.now() - signalledAt }))
  })
  await expect.poll(output, { timeout: 15_000 }).toMatch(/"event":"listening"/)
  const port = Number(/"port":(\d+)/.exec(output())?.[1])
  const signal = (name: 'SIGTERM' | 'SIGINT') => {
    signalledAt = Date.now()
    child.kill(name)
  }
  return { port, api, signal, exited, output }
}

function outputOf(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  }
  return () => text
}

/** A connection that has had an answer and is kept open. */
async function idleConnection(port: number): Promise<Socket> {
  const socket = await connectTo(port)
  socket.on('error', () => undefined)
  const heard = hear(socket)
  socket.write(LIVEZ)
  expect(await heard).toMatchObject({ is: 'answer', status: 200 })
  return socket
}

async function ask(port: number, request: string) {
  const socket = await connectTo(port)
  socket.on('error', () => undefined)
  const heard = hear(socket)
  socket.write(request)
  return heard
}

test('RUN-01: on SIGTERM a slow mint ends with its answer, a late request is served, and idle connections do not matter', async () => {
  const { port, signal, exited, output } = await start(3, (path) => (isReview(path) ? 2000 : 0))
  const idle = await Promise.all([idleConnection(port), idleConnection(port), idleConnection(port)])
  const mint = ask(port, MINT)
  await pause(200)
  signal('SIGTERM')

  await pause(1000)
  const late = await ask(port, LIVEZ)
  expect(late).toMatchObject({ is: 'answer', status: 200 })
  if (late.is === 'answer') expect(late.headers.get('connection')).toBe('close')

  const minted = await mint
  expect(minted).toMatchObject({ is: 'answer', status: 201 })
  if (minted.is === 'answer') expect(JSON.parse(minted.body).status.password).toMatch(/^[A-Za-z0-9]{32}$/)

  const { code, afterMs } = await exited
  expect(code, output()).toBe(0)
  expect(afterMs).toBeGreaterThanOrEqual(2900)
  expect(afterMs).toBeLessThan(8000)
  for (const socket of idle) socket.destroy()
})

test('RUN-01: a mint that lasts longer than the drain ends with its answer, and a late connection is refused', async () => {
  const { port, signal, exited, output } = await start(0, (path) => (isReview(path) ? 2000 : 0))
  const mint = ask(port, MINT)
  await pause(200)
  signal('SIGTERM')

  await pause(1000)
  await expect(connectTo(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  expect(await mint).toMatchObject({ is: 'answer', status: 201 })
  const { code, afterMs } = await exited
  expect(code, output()).toBe(0)
  // The connection of the mint is kept alive by its client, and does not keep the process.
  expect(afterMs).toBeLessThan(6000)
})

test('RUN-01: a mint that comes on an idle connection after SIGTERM is served, and told that it was the last', async () => {
  const { port, signal, exited, output } = await start(2, () => 0)
  const socket = await idleConnection(port)
  signal('SIGTERM')
  await pause(500)
  const heard = hear(socket)
  socket.write(MINT)
  const answer = await heard
  expect(answer).toMatchObject({ is: 'answer', status: 201 })
  if (answer.is === 'answer') expect(answer.headers.get('connection')).toBe('close')
  expect((await exited).code, output()).toBe(0)
})

// Go's transport opens one when all others are busy, and may never use it (`net/http`, Transport.queueForDial).
test('RUN-01: connections on which nothing was ever sent do not matter, and what is on its way on one is answered', async () => {
  const { port, signal, exited, output } = await start(0, () => 0)
  const [late, ...silent] = await Promise.all([connectTo(port), connectTo(port), connectTo(port)])
  for (const socket of silent) socket.on('error', () => undefined)
  await pause(200)
  signal('SIGTERM')
  await pause(200)
  const heard = hear(late)
  late.write(MINT)
  expect(await heard).toMatchObject({ is: 'answer', status: 201 })
  const { code, afterMs } = await exited
  expect(code, output()).toBe(0)
  expect(afterMs).toBeLessThan(6000)
})

test.each(['SIGTERM', 'SIGINT'] as const)(
  'RUN-01: %s waits for the event of a mint that has been answered',
  async (name) => {
    const { port, api, signal, exited, output } = await start(0, (path) => (isEvent(path) ? 1000 : 0))
    expect(await ask(port, MINT)).toMatchObject({ is: 'answer', status: 201 })
    expect(api.answered().filter(isEvent)).toEqual([])
    signal(name)
    expect((await exited).code, output()).toBe(0)
    expect(api.answered().filter(isEvent)).toEqual([
      'POST /apis/events.k8s.io/v1/namespaces/tenant-acme/events',
    ])
  },
)
