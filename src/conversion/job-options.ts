import type { Deps } from '../core/deps.ts'
import type { Webhooks } from '../definitions/webhook.ts'
import type { ConversionKube } from '../k8s/conversion-kube.ts'
import type { Kube } from '../k8s/kube.ts'
import type { FileDefinition } from './definitions.ts'
import type { Looked } from './job-look.ts'
import type { PassServices } from './job-release.ts'
import type { RecordPlace } from './record-store.ts'

export interface JobServices extends RecordPlace, Omit<PassServices, 'definitions'> {
  readonly kube: PassServices['kube'] & Pick<Kube, 'listDefinitions' | 'createEvent' | 'whoAmI'>
  readonly conversionKube: RecordPlace['conversionKube'] &
    Pick<ConversionKube, 'patchHelmRelease' | 'listPods' | 'listRoles'>
  readonly deps: Pick<Deps, 'now' | 'randomBytes' | 'log'>
}

export interface JobOptions {
  /** Definitions out of files. A kind without one is converted as the cluster's own definition says. */
  readonly files: readonly FileDefinition[]
  readonly hosts: Webhooks['hosts']
  /** Undefined: all. */
  readonly namespace: string | undefined
  readonly dryRun: boolean
  /** How many releases at a time. */
  readonly concurrency: number
  /** How long one release may wait for its chart, and then for its rotation. */
  readonly timeoutMs: number
  /** What has begun ends, and nothing more begins. */
  readonly signal?: AbortSignal
  readonly onProgress?: (done: number, total: number) => void
}

/** What became of a release. */
export interface JobbedRelease extends Looked {
  readonly namespace: string
  readonly release: string
  readonly kind: string
}
