import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedFolder } from './cache.ts'
import { succeed } from './command.ts'
import { report, requireGo } from './go.ts'

export interface OpenTofu {
  /** A folder with OpenTofu's own program `tofu`, of one version. */
  readonly bin: string
  /** A folder with a provider of our own, `example.org/test/caller`. */
  readonly provider: string
}

const MODULE = join(import.meta.dirname, 'opentofu')
const INPUTS = ['go.mod', 'go.sum', 'provider/main.go'].map((name) => join(MODULE, name))

/** Built from source once, into the cache folder. */
export async function buildOpenTofu(): Promise<OpenTofu> {
  const folder = await cachedFolder('opentofu', INPUTS, async (unfinished) => {
    await requireGo()
    report('building OpenTofu (about two minutes, once)')
    const bin = join(unfinished, 'bin')
    await mkdir(bin, { recursive: true })
    await build(`${bin}/`, 'tool')
    // OpenTofu looks for this name.
    await build(join(unfinished, 'provider', 'terraform-provider-caller'), './provider')
  })
  return { bin: join(folder, 'bin'), provider: join(folder, 'provider') }
}

async function build(output: string, what: string): Promise<void> {
  const args = ['build', '-trimpath', '-ldflags', '-s -w', '-o', output, what]
  await succeed('go', args, { cwd: MODULE, env: { CGO_ENABLED: '0' } })
}
