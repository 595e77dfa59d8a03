import { command } from './command.ts'

const NEEDED_MINOR = 26

/** Throws, with the reason, where no Go is there that is new enough. */
export async function requireGo(): Promise<void> {
  const needed = `Go 1.${NEEDED_MINOR} or newer is needed to build the control plane`
  const answer = await command('go', ['env', 'GOVERSION'], { cwd: import.meta.dirname }).catch(
    (error: unknown) => {
      throw new Error(`${needed}: \`go\` cannot be run`, { cause: error })
    },
  )
  const version = answer.stdout.trim()
  const [, major, minor] = /^go(\d+)\.(\d+)/.exec(version) ?? []
  if (answer.code === 0 && (Number(major) > 1 || Number(minor) >= NEEDED_MINOR)) return
  throw new Error(`${needed}: found ${version || answer.stderr.trim()}`)
}

/** What takes minutes says so. */
export function report(step: string): void {
  process.stderr.write(`control plane: ${step}\n`)
}
