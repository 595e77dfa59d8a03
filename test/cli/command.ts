import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

export const ROOT = join(import.meta.dirname, '../..')
const STANDIN = join(import.meta.dirname, 'curl-stand-in.ts')

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The environment of a test is not the command's. */
const bare = (env: Readonly<Record<string, string>>) => ({ PATH: process.env.PATH ?? '', ...env })

/** `src/cli.ts`, or another build of it, until it ends. */
export const runCommand = (
  args: readonly string[],
  { entry = join(ROOT, 'src/cli.ts'), env = {} }: CommandOptions = {},
): Promise<Ended> => ended(spawn(process.execPath, [entry, ...args], { env: bare(env) }))

interface CommandOptions {
  readonly entry?: string
  readonly env?: Readonly<Record<string, string>>
}

export interface Served {
  readonly origin: string
  /** What it has printed so far. */
  readonly output: () => string
  /** Answers how it ended. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>
}

/** `mintonce dev …` on a free port, until `stop`. Throws when it does not print where it listens. */
export async function serveCommand(
  args: readonly string[],
  { entry = join(ROOT, 'src/cli.ts'), env = {} }: CommandOptions = {},
): Promise<Served> {
  const child = spawn(process.execPath, [entry, 'dev', ...args], {
    env: bare({ PORT: '0', ...env }),
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  let output = ''
  const origin = await new Promise<string>((resolve, reject) => {
    const read = (chunk: string) => {
      output += chunk
      const found = /served on (http:\/\/\S+?)[.:] .*\/revoke\n/is.exec(output)?.[1]
      if (found !== undefined) resolve(found)
    }
    child.stdout.setEncoding('utf8').on('data', read)
    child.stderr.setEncoding('utf8').on('data', read)
    child.once('exit', () => reject(new Error(`it ended: ${output}`)))
  })
  return {
    origin,
    output: () => output,
    stop: async (signal = 'SIGKILL') => {
      if (child.exitCode !== null) return child.exitCode
      const exited = once(child, 'exit')
      child.kill(signal)
      const [code] = await exited
      process.off('exit', kill)
      return code
    },
  }
}

/** Lines as a person pastes them, with a `curl` of our own: not every machine has one. */
export const runInShell = (script: string): Promise<Ended> =>
  ended(spawn('sh', ['-e', '-c', `curl() { '${process.execPath}' '${STANDIN}' "$@"; }\n${script}`]))

export async function ended(child: ChildProcess): Promise<Ended> {
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new TypeError('a process without pipes')
  const [[code], out, error] = await Promise.all([once(child, 'close'), text(stdout), text(stderr)])
  return { code, stdout: out, stderr: error }
}
