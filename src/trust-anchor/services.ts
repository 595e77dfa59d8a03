import type { Deps } from '../core/deps.ts'
import type { DefinitionLookup } from '../definitions/lookup.ts'
import type { Kube } from '../k8s/kube.ts'
import type { KubeEvent } from '../k8s/objects.ts'
import type { AnchorNames } from './names.ts'

/** Ways to declare a source beside the TenantProjection, which is always one. */
export interface Legs {
  /** Labels on the source Secret. */
  readonly labels: boolean
  /** Names that operators give their CA's Secret, by application kind. Empty: none. */
  readonly names: AnchorNames
}

/** What publishing a CA works with. */
export interface AnchorServices {
  readonly kube: Pick<
    Kube,
    | 'getTenantProjection'
    | 'listTenantProjections'
    | 'updateTenantProjectionStatus'
    | 'getHelmRelease'
    | 'listHelmReleases'
    | 'getSecret'
    | 'listSecrets'
    | 'createSecret'
    | 'updateSecret'
    | 'deleteSecret'
  >
  readonly definitions: Pick<DefinitionLookup, 'load' | 'read'>
  readonly deps: Pick<Deps, 'now' | 'log'>
  /** Events: best effort, after the answer. */
  readonly emit: (event: KubeEvent) => void
  readonly legs: Legs
}

/** Whether a platform without the kind TenantProjection has something to publish. */
export const hasOtherLegs = ({ labels, names }: Legs): boolean => labels || names.size > 0
