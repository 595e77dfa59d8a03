/**
 * Start-up and memory of the bundle that ships, beside `node -e 0` in the same run, and the size of both bundles:
 * `npm run build && npm run bench:start`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { show } from './figures.ts'

const ROUNDS = 15
const DIST = join(import.meta.dirname, '../dist')

const samples = { nothing: [] as number[], bundle: [] as number[], memory: [] as number[] }
for (let round = 0; round < ROUNDS; round += 1) {
  samples.nothing.push(await nothing())
  const { tookMs, residentMiB } = await firstResponse()
  samples.bundle.push(tookMs)
  samples.memory.push(residentMiB)
}
show('node -e 0', samples.nothing)
show('dist/node.js, spawn to first response', samples.bundle, samples.nothing)
console.log(
  `${'resident after the first response'.padEnd(44)} ${Math.max(...samples.memory).toFixed(1)} MiB at most`,
)
await sizes()

async function nothing(): Promise<number> {
  const start = performance.now()
  await once(spawn(process.execPath, ['-e', '0']), 'exit')
  return performance.now() - start
}

async function firstResponse(): Promise<{ tookMs: number; residentMiB: number }> {
  const port = await freePort()
  const start = performance.now()
  const child = spawn(process.execPath, [join(DIST, 'node.js')], {
    stdio: 'ignore',
    env: { PORT: String(port), MINTONCE_LISTEN_ADDRESS: '127.0.0.1', MINTONCE_DRAIN_SECONDS: '0' },
  })
  while (!(await answers(port))) await new Promise((resolve) => setTimeout(resolve, 1))
  const tookMs = performance.now() - start
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
  const residentMiB = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
  child.kill('SIGTERM')
  await once(child, 'exit')
  return { tookMs, residentMiB }
}

async function answers(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/livez`)).ok
  } catch {
    return false
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** What a start loads, and the worker; chunks that are loaded only when asked for are listed by themselves. */
async function sizes(): Promise<void> {
  const names = (await readdir(DIST, { recursive: true })).filter((name) => name.endsWith('.js'))
  for (const name of names.sort()) {
    const file = join(DIST, name)
    const gzipped = gzipSync(await readFile(file)).length
    console.log(`${`dist/${name}`.padEnd(44)} ${kib((await stat(file)).size)}   gzip ${kib(gzipped)}`)
  }
}

function kib(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`
}
