import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

export interface Finished {
  readonly stdout: string
  readonly stderr: string
  readonly code: number
}

interface CommandOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
}

/** Runs a program to its end. Rejects only when it cannot be started. `env` adds to this process's own. */
export async function command(
  program: string,
  args: readonly string[],
  { cwd, env, stdin = '' }: CommandOptions = {},
): Promise<Finished> {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: 'pipe' })
  // A program may end without reading its input, which breaks the pipe and nothing else.
  child.stdin.on('error', () => {})
  child.stdin.end(stdin)
  const exit = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? -1))
  })
  const [code, stdout, stderr] = await Promise.all([exit, text(child.stdout), text(child.stderr)])
  return { stdout, stderr, code }
}

/** The same for a program that must succeed: answers its output, throws its complaint. */
export async function succeed(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const { stdout, stderr, code } = await command(program, args, options)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${stderr.trim()}`)
  return stdout
}
