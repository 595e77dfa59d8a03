import type { Miniflare } from 'miniflare'

/**
 * Runs a script that goes on until a signal ends it. It hands over each Miniflare that it starts, so that none outlives
 * it. What it throws is told in one line, with exit code 1.
 */
export function run(main: (started: (miniflare: Miniflare) => void) => Promise<void>): void {
  const running: Miniflare[] = []
  const end = async (code: number) => {
    await Promise.allSettled(running.map((miniflare) => miniflare.dispose()))
    process.exit(code)
  }
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.once(signal, () => void end(code))
  }
  main((miniflare) => running.push(miniflare)).catch((error: unknown) => {
    process.stderr.write(`mintonce: ${error instanceof Error ? error.message : 'failed'}\n`)
    return end(1)
  })
}
