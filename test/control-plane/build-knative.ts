import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedFolder } from './cache.ts'
import { succeed } from './command.ts'
import { report, requireGo } from './go.ts'

export interface Knative {
  /** The sidecar that Knative puts in front of every container. */
  readonly queueProxy: string
  /** Defaults and validates what is applied. */
  readonly webhook: string
  /** Makes Deployments of what was applied. */
  readonly controller: string
  /** A folder for each part of what Knative's release installs beside its programs. */
  readonly config: {
    /** Its settings. */
    readonly configMaps: string
    /** How the API server finds the webhook. */
    readonly webhooks: string
    /** Definitions of resources that Serving uses, and the settings of its network. */
    readonly networking: string
    readonly caching: string
  }
}

const MODULE = join(import.meta.dirname, 'knative')
const INPUTS = [join(MODULE, 'go.mod'), join(MODULE, 'go.sum')]
const CONFIG = {
  configMaps: ['knative.dev/serving', 'config/core/configmaps'],
  webhooks: ['knative.dev/serving', 'config/core/webhooks'],
  networking: ['knative.dev/networking', 'config'],
  caching: ['knative.dev/caching', 'config'],
} as const

/** Knative Serving's own programs and manifests, built once into the cache folder. */
export async function buildKnative(): Promise<Knative> {
  const folder = await cachedFolder('knative', INPUTS, async (unfinished) => {
    await requireGo()
    await buildBinaries(join(unfinished, 'bin'))
    for (const [part, [module, path]] of Object.entries(CONFIG)) {
      await copyManifests(module, path, join(unfinished, part))
    }
  })
  const bin = join(folder, 'bin')
  return {
    queueProxy: join(bin, 'queue'),
    webhook: join(bin, 'webhook'),
    controller: join(bin, 'controller'),
    config: {
      configMaps: join(folder, 'configMaps'),
      webhooks: join(folder, 'webhooks'),
      networking: join(folder, 'networking'),
      caching: join(folder, 'caching'),
    },
  }
}

async function buildBinaries(folder: string): Promise<void> {
  report("building Knative's queue-proxy, webhook and controller (about two minutes, once)")
  await mkdir(folder, { recursive: true })
  const args = ['build', '-trimpath', '-ldflags', '-s -w', '-o', `${folder}/`, 'tool']
  await succeed('go', args, { cwd: MODULE, env: { CGO_ENABLED: '0' } })
}

/** From the module itself, so that manifests and programs are of one version. */
async function copyManifests(module: string, path: string, folder: string): Promise<void> {
  const source = await succeed('go', ['list', '-m', '-f', '{{.Dir}}', module], { cwd: MODULE })
  const from = join(source.trim(), path)
  await mkdir(folder, { recursive: true })
  // One by one: a copy of the folder itself would be as read-only as the module cache.
  const files = (await readdir(from)).filter((name) => name.endsWith('.yaml'))
  await Promise.all(files.map((name) => copyFile(join(from, name), join(folder, name))))
}
