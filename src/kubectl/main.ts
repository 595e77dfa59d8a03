import { fstatSync, statSync, writeSync } from 'node:fs'
import { codeOf } from '../core/error-code.ts'
import { openKubeconfig } from '../k8s/node-kubeconfig.ts'
import { completionsOf } from './complete.ts'
import type { Verb } from './flags.ts'
import { run } from './run.ts'

/** Longer than a person waits for a word. */
const PATIENCE_MS = 3000

/** `kubectl mint …` or `kubectl revoke …`, in this process. */
export async function main(verb: Verb): Promise<void> {
  // Told by the callback of the write; nobody listening would end the process before it says so.
  process.stdout.on('error', () => undefined)
  process.stderr.on('error', () => undefined)
  process.exitCode = await run(verb, process.argv.slice(2), {
    env: process.env,
    open: openKubeconfig,
    print,
    whyUnseen,
    isTerminal: process.stdout.isTTY === true,
    say,
    whenInterrupted,
  })
}

/** `kubectl_complete-mint …`: quiet, and over soon. */
export async function mainOfCompletion(verb: Verb): Promise<void> {
  const output = await completionsOf(verb, process.argv.slice(2), {
    env: process.env,
    open: openKubeconfig,
    signal: AbortSignal.timeout(PATIENCE_MS),
  })
  await print(output).catch(() => undefined)
  // A plug-in or a server that does not answer must not be waited for.
  process.exit(0)
}

const say = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

const print = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })

/** Node opens `/dev/null` in place of a standard output that is closed (src/node.cc of Node, `PlatformInit`). */
function whyUnseen(): string | undefined {
  try {
    // Of nothing: it is the permission that is asked for.
    writeSync(1, '')
    const { rdev } = fstatSync(1)
    const isNowhere = rdev !== 0 && rdev === statSync('/dev/null', { throwIfNoEntry: false })?.rdev
    return isNowhere ? 'standard output is closed, or /dev/null' : undefined
  } catch (error) {
    return `standard output cannot be written (${codeOf(error) ?? 'no reason'})`
  }
}

/** 128 and the number of the signal, as a shell reports it. */
const SIGNALS = [
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGQUIT', 131],
  ['SIGTERM', 143],
] as const

function whenInterrupted(line: string): () => void {
  const listeners = SIGNALS.map(([signal, code]) => {
    const listener = () => {
      say(line)
      process.exit(code)
    }
    process.once(signal, listener)
    return () => process.off(signal, listener)
  })
  return () => {
    for (const forget of listeners) forget()
  }
}
