import type { Deps } from '../core/deps.ts'
import type { Failure } from '../core/failure.ts'
import { isSameJson, own } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { DefinitionLookup } from '../definitions/lookup.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import type { CallOptions, Kube } from '../k8s/kube.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import { type Application, applicationOf } from './application.ts'
import type { Review } from './verdict.ts'

export interface AdmissionServices {
  readonly kube: Pick<
    Kube,
    'getNamespace' | 'getHelmRelease' | 'getSecret' | 'listSecrets' | 'createSecret' | 'updateSecret'
  >
  readonly definitions: DefinitionLookup
  readonly deps: Pick<Deps, 'now' | 'randomBytes' | 'log'>
}

/** A release that admission has something to do with. */
export interface Served {
  readonly release: HelmRelease
  readonly application: Application
  readonly rules: CredentialRules
}

/**
 * Undefined for what is no application, is being deleted, or has no minted credentials. Fails with `definition_wrong`
 * or `definitions_ambiguous`, or with why the definitions could not be read. They are read now, unless `isFresh` is false.
 */
export async function servedBy(
  { definitions }: Pick<AdmissionServices, 'definitions'>,
  release: HelmRelease | undefined,
  { isFresh = true, ...options }: CallOptions & { readonly isFresh?: boolean },
): Promise<Result<Served | undefined>> {
  const application = applicationServed(release)
  if (release === undefined || application === undefined) return ok(undefined)
  const known = await (isFresh ? definitions.read(options) : definitions.load(options))
  if (!known.ok) return known
  const rules = known.value.rulesFor(application.kind)
  if (!rules.ok) return fail(rules.failure)
  return ok(rules.value === undefined ? undefined : { release, application, rules: rules.value })
}

/** Undefined for what is no application, or is being deleted: nothing is asked for it. */
export const applicationServed = (release: HelmRelease | undefined): Application | undefined =>
  release === undefined || release.metadata.deletionTimestamp !== undefined
    ? undefined
    : applicationOf(release)

/** Whether a write is one that may change which accounts there are. */
export const changesValues = ({ operation, object, oldObject }: Review): boolean =>
  operation === 'CREATE' || !isSameJson(valuesOf(object), valuesOf(oldObject))

const valuesOf = (release: HelmRelease | undefined): unknown => own(release?.spec, 'values') ?? {}

/** For whoever changes something else, and is not held up by it. */
export function definitionWarning(failure: Failure): string {
  switch (failure.reason) {
    case 'definition_wrong':
      return `passwords of this kind are not looked after: ApplicationDefinition ${JSON.stringify(failure.definition)} is wrong: ${failure.field}: ${failure.problem}`
    case 'definitions_ambiguous':
      return `passwords of this kind are not looked after: several ApplicationDefinitions define the kind ${failure.kind}: ${failure.definitions.join(', ')}`
    default:
      return 'the accounts of this application were not looked at: the ApplicationDefinitions could not be read'
  }
}
