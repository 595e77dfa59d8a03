import type { Failure } from '../core/failure.ts'
import { canonicalJson } from '../core/json.ts'
import { ok, type Result } from '../core/result.ts'
import { utf8 } from '../core/text.ts'
import { applicationOf } from '../credentials/application.ts'
import { toHex } from '../formats/hex.ts'
import type { CallOptions } from '../k8s/kube.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import type { AnchorServices } from './services.ts'

/**
 * SHA-256 of what the definition of the release's kind says about Secrets, in hex: it changes when the platform is to
 * look again at who sees the projection. `""` when there is no release, no application or no definition that says it.
 * Fails with a `kube_*` reason when that is not known.
 */
export async function selectorsDigest(
  { definitions }: Pick<AnchorServices, 'definitions'>,
  release: HelmRelease | undefined,
  options: CallOptions,
): Promise<Result<string>> {
  const application = release === undefined ? undefined : applicationOf(release)
  if (application === undefined) return ok('')
  const known = await definitions.load(options)
  if (!known.ok) return isNotServed(known.failure) ? ok('') : known
  const secrets = canonicalJson(known.value.secretsOf(application.kind))
  if (secrets === undefined) return ok('')
  return ok(toHex(await crypto.subtle.digest('SHA-256', utf8(secrets))))
}

/** The kind is not installed: then there is none of it. */
export const isNotServed = ({ reason }: Failure): boolean => reason === 'kube_not_served'
