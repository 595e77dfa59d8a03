import type { Failure } from '../core/failure.ts'
import { canonicalJson } from '../core/json.ts'
import { ok, type Result } from '../core/result.ts'
import { utf8 } from '../core/text.ts'
import { applicationOf } from '../credentials/application.ts'
import type { DefinitionLookup } from '../definitions/lookup.ts'
import { toHex } from '../formats/hex.ts'
import type { CallOptions } from '../k8s/kube.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import type { AnchorServices } from './services.ts'

/** What the definition of a release's kind says about Secrets, in short. */
export interface Selectors {
  /**
   * SHA-256 of it in hex: it changes when the platform is to look again at who sees the projection. `""` when there is no
   * release, no application or no definition that says it. Of definitions that may be as old as they are kept for.
   */
  readonly digest: string
  /** The same of definitions that are read now. Fails with a `kube_*` reason. */
  readonly again: () => Promise<Result<string>>
}

/** Fails with a `kube_*` reason when it is not known. */
export async function selectorsOf(
  { definitions }: Pick<AnchorServices, 'definitions'>,
  release: HelmRelease | undefined,
  options: CallOptions,
): Promise<Result<Selectors>> {
  const application = release === undefined ? undefined : applicationOf(release)
  const digestIn = async (read: DefinitionLookup['load']): Promise<Result<string>> => {
    if (application === undefined) return ok('')
    const known = await read(options)
    if (!known.ok) return isNotServed(known.failure) ? ok('') : known
    const secrets = canonicalJson(known.value.secretsOf(application.kind))
    if (secrets === undefined) return ok('')
    return ok(toHex(await crypto.subtle.digest('SHA-256', utf8(secrets))))
  }
  const digest = await digestIn(definitions.load)
  return digest.ok ? ok({ digest: digest.value, again: () => digestIn(definitions.read) }) : digest
}

/** The kind is not installed: then there is none of it. */
export const isNotServed = ({ reason }: Failure): boolean => reason === 'kube_not_served'
