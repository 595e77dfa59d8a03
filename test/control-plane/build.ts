import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedFolder } from './cache.ts'
import { succeed } from './command.ts'
import { report, requireGo } from './go.ts'

export interface Binaries {
  readonly etcd: string
  readonly kubeApiserver: string
  readonly kubeControllerManager: string
  readonly kubectl: string
  /** The CustomResourceDefinition that Flux's helm-controller ships. */
  readonly helmReleaseCrd: string
}

const MODULE = import.meta.dirname
const CRD_MODULE = join(MODULE, 'crds')
const INPUTS = [
  join(MODULE, 'go.mod'),
  join(MODULE, 'go.sum'),
  join(CRD_MODULE, 'go.mod'),
  join(CRD_MODULE, 'go.sum'),
  join(CRD_MODULE, 'crds.go'),
]

const VERSION = 'k8s.io/component-base/version'
const LDFLAGS = `-s -w -X ${VERSION}.gitVersion=v1.36.3 -X ${VERSION}.gitMajor=1 -X ${VERSION}.gitMinor=36`

/** Built from source once, into the cache folder; minutes the first time, nothing afterwards. */
export async function buildControlPlane(): Promise<Binaries> {
  const folder = await cachedFolder('control-plane', INPUTS, async (unfinished) => {
    await requireGo()
    await buildBinaries(join(unfinished, 'bin'))
    await generateCrds(join(unfinished, 'crds'))
  })
  const bin = join(folder, 'bin')
  return {
    etcd: join(bin, 'etcd'),
    kubeApiserver: join(bin, 'kube-apiserver'),
    kubeControllerManager: join(bin, 'kube-controller-manager'),
    kubectl: join(bin, 'kubectl'),
    helmReleaseCrd: join(folder, 'crds', 'helm.toolkit.fluxcd.io_helmreleases.yaml'),
  }
}

async function buildBinaries(folder: string): Promise<void> {
  report('building kube-apiserver, kube-controller-manager, kubectl and etcd (about five minutes, once)')
  await mkdir(folder, { recursive: true })
  const args = ['build', '-trimpath', '-ldflags', LDFLAGS, '-o', `${folder}/`, 'tool']
  await succeed('go', args, { cwd: MODULE, env: { CGO_ENABLED: '0' } })
  // Go names a program after its last path element, and etcd's is `server`.
  await rename(join(folder, 'server'), join(folder, 'etcd'))
}

async function generateCrds(folder: string): Promise<void> {
  report("generating Flux's HelmRelease definition (about half a minute, once)")
  const paths = 'paths=github.com/fluxcd/helm-controller/api/v2'
  const args = ['tool', 'controller-gen', 'crd', paths, `output:crd:dir=${folder}`]
  await succeed('go', args, { cwd: CRD_MODULE, env: { CGO_ENABLED: '0' } })
}
