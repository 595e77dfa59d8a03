import { filledAt } from '../core/json.ts'
import type { HelmRelease } from '../k8s/objects.ts'

/** A HelmRelease that is an application: the three labels are the only tie between the two names. */
export interface Application {
  readonly group: string
  readonly kind: string
  readonly name: string
}

export const APPLICATION_GROUP = 'apps.cozystack.io'
export const GROUP_LABEL = 'apps.cozystack.io/application.group'
export const KIND_LABEL = 'apps.cozystack.io/application.kind'
export const NAME_LABEL = 'apps.cozystack.io/application.name'

/** Undefined for a release without the labels: a nested release has none, and so no accounts. */
export function applicationOf({ metadata }: Pick<HelmRelease, 'metadata'>): Application | undefined {
  const group = filledAt(metadata, 'labels', GROUP_LABEL)
  const kind = filledAt(metadata, 'labels', KIND_LABEL)
  const name = filledAt(metadata, 'labels', NAME_LABEL)
  if (group !== APPLICATION_GROUP || kind === undefined || name === undefined) return undefined
  return { group, kind, name }
}

/** Flux does nothing for a suspended release: the engine gets a new password when it is resumed. */
export const isSuspended = (release: HelmRelease): boolean => release.spec.suspend === true
