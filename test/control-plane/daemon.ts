import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { command } from './command.ts'

export interface Daemon {
  readonly name: string
  readonly isRunning: () => boolean
  readonly signal: (signal: NodeJS.Signals) => void
  /** Its exit code once it has ended; null when a signal ended it. */
  readonly exited: Promise<number | null>
  /** The last lines that it wrote. */
  readonly lastLines: () => Promise<string>
  /** Ends it without waiting. */
  readonly kill: () => void
  /** Ends it and waits until it is gone. Its data is thrown away, so there is nothing to finish. */
  readonly end: () => Promise<void>
}

const LAST_LINES = 15

/**
 * Starts a program that runs until it is ended, or until this process is gone, however that ends. Without `env` it has
 * this process's own.
 */
export async function startDaemon(
  name: string,
  program: string,
  args: readonly string[],
  logFile: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Daemon> {
  const [first = program, ...rest] = [...(await dieWithParent()), program, ...args]
  const log = openSync(logFile, 'a')
  const child = spawn(first, rest, { stdio: ['ignore', log, log], env })
  closeSync(log)
  const exited = once(child, 'exit').then(([code]): number | null => code)
  await once(child, 'spawn')
  const isRunning = () => child.exitCode === null && child.signalCode === null
  const kill = () => {
    if (isRunning()) child.kill('SIGKILL')
  }
  return {
    name,
    isRunning,
    signal: (signal) => void child.kill(signal),
    exited,
    lastLines: async () =>
      (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-LAST_LINES).join('\n'),
    kill,
    async end() {
      kill()
      await exited
    },
  }
}

/** Where the kernel offers it (Linux), a child dies with its parent even when that is killed outright. */
async function dieWithParent(): Promise<readonly string[]> {
  const prefix = ['setpriv', '--pdeathsig', 'KILL', '--']
  const { code } = await command('setpriv', ['--pdeathsig', 'KILL', '--', 'true']).catch(() => ({ code: -1 }))
  return code === 0 ? prefix : []
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Calls `clean`, which must not wait for anything, when this process ends. Answers how to call that off. */
export function onProcessEnd(clean: () => void): () => void {
  const onSignal = (signal: NodeJS.Signals) => {
    forget()
    clean()
    // With nobody else listening, the signal does what it would have done without us.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
  }
  const forget = () => {
    process.off('exit', clean)
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
  process.once('exit', clean)
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return forget
}
