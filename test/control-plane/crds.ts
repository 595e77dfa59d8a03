import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fluxNotificationCrds } from './build-flux-notification.ts'
import { succeed } from './command.ts'
import type { ControlPlane } from './control-plane.ts'
import { definitionsAreServed } from './established.ts'

/** Its go.mod says which version, its go.sum what that is. */
const KNATIVE_MODULE = join(import.meta.dirname, 'knative')

/** No module here builds it, so that its version and its checksum, as in a go.sum, stand here. */
const CERT_MANAGER = 'github.com/cert-manager/cert-manager@v1.21.0'
const CERT_MANAGER_SUM = 'h1:BCoB2BxA1lbqPusZCqPLPn8Q9MhraL7RbZGHbBcm3W8='

/** Its module is not served to be built: a copy of the part that we write. */
const KNATIVE_EVENTING = join(import.meta.dirname, 'crd-knative-eventing.yaml')

/**
 * Adds the resources that our manifests speak of and that others define, as they release them: Knative Serving
 * (`config/core/300-resources`), cert-manager (`deploy/crds`) and Flux's notification-controller; of Knative Eventing the
 * part that we write. Ends when they are served. Throws what went wrong.
 */
export async function applyForeignCrds({
  apply,
  kubectl,
}: Pick<ControlPlane, 'apply' | 'kubectl'>): Promise<void> {
  const folders = [
    join(await knativeServing(), 'config/core/300-resources'),
    join(await released(CERT_MANAGER, CERT_MANAGER_SUM), 'deploy/crds'),
    await fluxNotificationCrds(),
  ]
  const texts = await Promise.all([...folders.map(readManifests), readFile(KNATIVE_EVENTING, 'utf8')])
  await apply(texts.flat().join('\n---\n'))
  await definitionsAreServed({ kubectl })
}

async function readManifests(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).sort()
  return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
}

const knativeServing = async (): Promise<string> =>
  (await download('knative.dev/serving', KNATIVE_MODULE)).Dir

/** The folder of a module's files, of one version. Throws when the files are not those of the checksum. */
export async function released(module: string, sum: string): Promise<string> {
  // Outside of every module: the versions that another one needs have no say here.
  const outside = await mkdtemp(join(tmpdir(), 'mintonce-module.'))
  try {
    const { Dir, Sum } = await download(module, outside)
    if (Sum !== sum) throw new Error(`${module} is ${Sum}, and ${sum} was expected`)
    return Dir
  } finally {
    await rm(outside, { recursive: true })
  }
}

interface Downloaded {
  /** Where its files are, in Go's own cache. */
  readonly Dir: string
  readonly Sum: string
}

const download = async (module: string, cwd: string): Promise<Downloaded> =>
  JSON.parse(await succeed('go', ['mod', 'download', '-json', module], { cwd }))
