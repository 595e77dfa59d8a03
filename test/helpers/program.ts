import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { onProcessEnd } from '../control-plane/daemon.ts'

interface ProgramOptions {
  /** All of its environment, beside the path. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** What it prints when it is ready. By default nothing: somebody else waits for it. */
  readonly ready?: RegExp
}

export interface Running {
  readonly pid: number
  /** What `ready` has found. */
  readonly found: RegExpExecArray
  /** What it has printed so far. */
  readonly output: () => string
  /** Answers how it ended. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>
}

/**
 * A program that goes on until `stop`, in a process group of its own: the signal goes to all that it has started, as
 * Ctrl-C in a terminal does. Throws when it ends before it is ready.
 */
export async function startProgram(
  [program, ...args]: readonly [string, ...string[]],
  { env = {}, cwd, ready = /^/ }: ProgramOptions,
): Promise<Running> {
  const child = spawn(program, args, {
    detached: true,
    env: { PATH: process.env.PATH ?? '', ...env },
    ...(cwd === undefined ? {} : { cwd }),
  })
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const signalAll = (signal: NodeJS.Signals) => {
    if (child.pid !== undefined && !hasEnded()) process.kill(-child.pid, signal)
  }
  const kill = () => signalAll('SIGKILL')
  const forget = onProcessEnd(kill)
  child.once('exit', forget)
  let output = ''
  const found = await new Promise<RegExpExecArray>((resolve, reject) => {
    const read = (chunk: string) => {
      output += chunk
      const match = ready.exec(output)
      if (match !== null) resolve(match)
    }
    child.stdout.setEncoding('utf8').on('data', read)
    child.stderr.setEncoding('utf8').on('data', read)
    child.once('spawn', () => read(''))
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`it ended: ${output}`)))
  })
  return {
    pid: child.pid ?? 0,
    found,
    output: () => output,
    stop: async (signal = 'SIGKILL') => {
      if (hasEnded()) return child.exitCode
      const exited = once(child, 'exit')
      signalAll(signal)
      const [code] = await exited
      return code
    },
  }
}
