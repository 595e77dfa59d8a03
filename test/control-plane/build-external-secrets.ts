import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedFolder } from './cache.ts'
import { succeed } from './command.ts'
import { report, requireGo } from './go.ts'

export interface ExternalSecrets {
  /** The operator's program. */
  readonly operator: string
  /** A folder with the definitions of its resources. */
  readonly crds: string
}

const MODULE_PATH = 'github.com/external-secrets/external-secrets'
const MODULE = join(import.meta.dirname, 'external-secrets')
const INPUTS = [join(MODULE, 'go.mod'), join(MODULE, 'go.sum')]

/** External Secrets Operator itself and its definitions, of one version, built once into the cache folder. */
export async function buildExternalSecrets(): Promise<ExternalSecrets> {
  const folder = await cachedFolder('external-secrets', INPUTS, async (unfinished) => {
    await requireGo()
    await buildOperator(join(unfinished, 'bin'))
    await copyDefinitions(join(unfinished, 'crds'))
  })
  return { operator: join(folder, 'bin', 'external-secrets'), crds: join(folder, 'crds') }
}

async function buildOperator(folder: string): Promise<void> {
  report('building External Secrets Operator (about five minutes, once)')
  await mkdir(folder, { recursive: true })
  const args = ['build', '-trimpath', '-ldflags', '-s -w', '-o', `${folder}/`, 'tool']
  await succeed('go', args, { cwd: MODULE, env: { CGO_ENABLED: '0' } })
}

async function copyDefinitions(folder: string): Promise<void> {
  const source = await succeed('go', ['list', '-m', '-f', '{{.Dir}}', MODULE_PATH], { cwd: MODULE })
  const from = join(source.trim(), 'config/crds/bases')
  await mkdir(folder, { recursive: true })
  const names = (await readdir(from)).filter((name) =>
    /^(generators\.)?external-secrets\.io_.*\.yaml$/.test(name),
  )
  await Promise.all(names.map((name) => copyFile(join(from, name), join(folder, name))))
}
