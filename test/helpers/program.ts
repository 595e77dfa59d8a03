import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { onProcessEnd } from '../control-plane/daemon.ts'

interface ProgramOptions {
  /** All of its environment, beside the path. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** What it prints when it is ready. By default nothing: somebody else waits for it. */
  readonly ready?: RegExp
  /**
   * What it prints goes through a pipe that a process of its own reads into this file, as a container's does. Left out: this
   * process reads it, in the time of whatever it measures.
   */
  readonly logFile?: string
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

const LOOK_AGAIN_MS = 5
/** What reads ends when nobody can write any more, and not with the rest of its group. */
const LOGGED =
  'mkfifo "$0.pipe" && { (trap "" INT TERM; exec cat "$0.pipe" > "$0") & exec "$@" > "$0.pipe" 2>&1; }'

const textIn = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')

/**
 * A program that goes on until `stop`, in a process group of its own: the signal goes to all that it has started, as
 * Ctrl-C in a terminal does. Throws when it ends before it is ready.
 */
export async function startProgram(
  command: readonly [string, ...string[]],
  { env = {}, cwd, ready = /^/, logFile }: ProgramOptions,
): Promise<Running> {
  const [program, ...args] = logFile === undefined ? command : ['/bin/sh', '-c', LOGGED, logFile, ...command]
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
  let printed = ''
  const output = () => (logFile === undefined ? printed : textIn(logFile))
  const found = await new Promise<RegExpExecArray>((resolve, reject) => {
    let isReady = false
    const look = () => {
      // All that was printed, each time: that is for the start only.
      if (isReady) return
      const match = ready.exec(output())
      isReady = match !== null
      if (match !== null) resolve(match)
      else if (logFile !== undefined && !hasEnded()) setTimeout(look, LOOK_AGAIN_MS)
    }
    const read = (chunk: string) => {
      printed += chunk
      look()
    }
    child.stdout.setEncoding('utf8').on('data', read)
    child.stderr.setEncoding('utf8').on('data', read)
    child.once('spawn', look)
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`it ended: ${output()}`)))
  })
  return {
    pid: child.pid ?? 0,
    found,
    output,
    stop: async (signal = 'SIGKILL') => {
      if (hasEnded()) return child.exitCode
      const exited = once(child, 'exit')
      signalAll(signal)
      const [code] = await exited
      return code
    },
  }
}
