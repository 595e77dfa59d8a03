import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ControlPlane } from './control-plane.ts'
import { released } from './crds.ts'
import { definitionsAreServed } from './established.ts'

/** No module here builds them, so that their versions and checksums, as in a go.sum, stand here. */
const RELEASES = [
  {
    module: 'github.com/argoproj/argo-cd/v3@v3.5.7',
    sum: 'h1:Xm1BF+I5OgDKUG3SDK49vn2/Y5AMyaNVko+/JT08gj0=',
    file: 'manifests/crds/application-crd.yaml',
  },
  {
    module: 'github.com/fluxcd/kustomize-controller@v1.9.6',
    sum: 'h1:XB+G3A0mky0j5uVHZWv4oSlS2RvZBoNIUhstIvY0JKE=',
    file: 'config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml',
  },
] as const

/** Adds Argo CD's Application and Flux's Kustomization, as they release them. Ends when they are served. Throws what went wrong. */
export async function applyGitOpsCrds(plane: Pick<ControlPlane, 'apply' | 'kubectl'>): Promise<void> {
  const texts = await Promise.all(
    RELEASES.map(async ({ module, sum, file }) => readFile(join(await released(module, sum), file), 'utf8')),
  )
  await plane.apply(texts.join('\n---\n'))
  await definitionsAreServed(plane)
}
