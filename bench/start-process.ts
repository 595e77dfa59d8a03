import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { onProcessEnd } from '../test/control-plane/daemon.ts'

/** What a process has cost by the time that it had done what was asked of it. */
export interface Sample {
  /** From before the spawn. */
  readonly wallMs: number
  /** Of all its threads, user and system: what a shared machine disturbs least. */
  readonly cpuMs: number
  /** At its highest. */
  readonly residentMiB: number
}

export interface Program {
  /** Left out: this Node. */
  readonly command?: string
  /** Of `node`: options, then the file. */
  readonly args: readonly string[]
  /** All of its environment. */
  readonly env?: Readonly<Record<string, string>>
}

interface Measured<T> {
  readonly sample: Sample
  readonly value: T
}

/**
 * Starts a program, waits for what `ready` finds in its output, does `work` with that, and ends it as the kubelet does.
 * Throws when the program ends earlier, with what it has printed. Needs Linux: `/proc` knows what a process has used.
 */
export async function measureProcess<T>(
  { command = process.execPath, args, env = {} }: Program,
  ready: RegExp,
  work: (found: string) => T | Promise<T>,
): Promise<Measured<T>> {
  const start = performance.now()
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const forget = onProcessEnd(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const hangs = setTimeout(() => child.kill('SIGKILL'), HANGS_MS)
  try {
    const value = await work(await waitFor(child, ready))
    const wallMs = performance.now() - start
    return { value, sample: { wallMs, ...(await usageOf(child.pid)) } }
  } finally {
    child.kill('SIGTERM')
    await exited
    clearTimeout(hangs)
    forget()
  }
}

/** Nothing that is measured here takes nearly as long. */
const HANGS_MS = 20_000

/** Milliseconds from spawn to exit. */
export async function timeToExit(args: readonly string[]): Promise<number> {
  const start = performance.now()
  await once(spawn(process.execPath, args, { env: {}, stdio: 'ignore' }), 'exit')
  return performance.now() - start
}

function waitFor(child: ChildProcess, ready: RegExp): Promise<string> {
  let output = ''
  return new Promise((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk
      const found = ready.exec(output)?.[1]
      if (found !== undefined) resolve(found)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`it ended: ${output}`)))
  })
}

async function usageOf(pid: number | undefined): Promise<Omit<Sample, 'wallMs'>> {
  const tasks = await readdir(`/proc/${pid}/task`)
  // The first number: nanoseconds on a CPU (the kernel's Documentation/scheduler/sched-stats.rst).
  const onCpu = await Promise.all(
    // A thread may have ended since: a start has none that does much.
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/schedstat`, 'utf8').catch(() => '0')),
  )
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return {
    cpuMs: onCpu.reduce((sum, text) => sum + parseInt(text, 10), 0) / 1e6,
    residentMiB: Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024,
  }
}
