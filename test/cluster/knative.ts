import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { ControlPlane } from '../control-plane/start.ts'

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

const FOLDER = join(import.meta.dirname, '../../knative')

/** What `kubectl apply -k knative/` applies, without what needs Knative itself. */
export async function knativeManifests({ kubectl }: ControlPlane): Promise<readonly Manifest[]> {
  const { code, stdout, stderr } = await kubectl(['kustomize', FOLDER])
  if (code !== 0) throw new Error(`kubectl kustomize: ${stderr}`)
  const manifests = parseAllDocuments(stdout).map((document): Manifest => document.toJS())
  return manifests.filter(({ apiVersion }) => !apiVersion.startsWith('serving.knative.dev/'))
}

/** Asks until the answer is yes. Throws when it has not been for half a minute. */
export async function eventually(what: string, ask: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!(await ask())) {
    if (performance.now() > deadline) throw new Error(`not within 30 s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
