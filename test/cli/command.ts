import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Anything } from '../contract/kube.ts'
import { type Running, startProgram } from '../helpers/program.ts'

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

export interface Served extends Pick<Running, 'output' | 'stop'> {
  readonly origin: string
}

/** `mintonce dev …` on a free port, until `stop`. Throws when it does not print where it listens. */
export const serveCommand = (
  args: readonly string[],
  { entry = join(ROOT, 'src/cli.ts'), env = {} }: CommandOptions = {},
): Promise<Served> => serveScript([entry, 'dev', ...args], env)

/** `npm run dev:worker -- …`, the same way. */
export const serveWorker = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Served> => serveScript([join(ROOT, 'dev/worker.ts'), ...args], env)

async function serveScript(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Served> {
  const ready = /served on (http:\/\/\S+?)[.:] .*\/revoke\n/is
  const running = await startProgram([process.execPath, ...args], { env: { PORT: '0', ...env }, ready })
  return { origin: running.found[1] ?? '', output: running.output, stop: running.stop }
}

/** Makes a `curl` of a shell: not every machine has one. */
export const CURL = `curl() { '${process.execPath}' '${STANDIN}' "$@"; }\n`

/** Lines as a person pastes them. */
export const runInShell = (script: string): Promise<Ended> =>
  ended(spawn('sh', ['-e', '-c', `${CURL}${script}`]))

/** What the calls in these lines answer, one JSON document a line. Throws when one of them fails or complains. */
export async function answersTo(script: string): Promise<readonly Anything[]> {
  const { code, stdout, stderr } = await runInShell(script)
  if (code !== 0 || stderr !== '') throw new Error(`the script ended with ${code}: ${stderr}`)
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** What a person copies from an output: the assignments and the calls. */
export const pasteable = (output: string): string =>
  output
    .split('\n')
    .filter((line) => /^(\w+=|curl )/.test(line))
    .join('\n')

export async function ended(child: ChildProcess): Promise<Ended> {
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new TypeError('a process without pipes')
  const [[code], out, error] = await Promise.all([once(child, 'close'), text(stdout), text(stderr)])
  return { code, stdout: out, stderr: error }
}
