import { access, chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A folder whose `kubectl` is put in front of the real one. */
interface Between {
  readonly bin: string
}

interface Paused extends Between {
  readonly isReached: () => Promise<boolean>
  readonly goOn: () => Promise<void>
}

/** Waits before calls that this pattern of the shell matches, as a machine does that has stopped for a while. */
export async function pausedBefore(bin: string, kubectl: string, calls: string): Promise<Paused> {
  // Not for ever: the folder goes when the tests end.
  const wait = `: > '${bin}/reached'; while [ -e '${bin}/reached' ] && [ ! -e '${bin}/go' ]; do sleep 0.05; done`
  await install(bin, `case "$*" in ${calls}) ${wait} ;; esac\nexec '${kubectl}' "$@"\n`)
  return {
    bin,
    isReached: () =>
      access(join(bin, 'reached')).then(
        () => true,
        () => false,
      ),
    goOn: () => writeFile(join(bin, 'go'), ''),
  }
}

/** Prints this in place of the answer to such calls. */
export async function answering(
  bin: string,
  kubectl: string,
  calls: string,
  answer: string,
): Promise<Between> {
  await install(bin, `case "$*" in ${calls}) echo '${answer}' ;; *) exec '${kubectl}' "$@" ;; esac\n`)
  return { bin }
}

/** What is not the answer of a mint, though it came with a 2xx. */
export const NO_ANSWERS: readonly (readonly [string, string])[] = [
  ['no JSON', 'oops'],
  ['no password', '{"status": {"username": "web"}}'],
  ['nothing', ''],
]

async function install(bin: string, script: string): Promise<void> {
  await mkdir(bin)
  await writeFile(join(bin, 'kubectl'), `#!/bin/sh\n${script}`)
  await chmod(join(bin, 'kubectl'), 0o755)
}
