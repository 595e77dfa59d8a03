import { fail, ok, type Result } from '../core/result.ts'
import type { DefinitionLookup, Definitions } from '../definitions/lookup.ts'
import { resolveDeclared } from '../definitions/resolve.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import type { CallOptions, Kube } from '../k8s/kube.ts'
import type { HelmRelease, StoredSecret } from '../k8s/objects.ts'
import { findAccount } from './accounts.ts'
import { type Application, applicationOf } from './application.ts'
import { type CredentialName, credentialNameOf, secretNameOf } from './naming.ts'

/** Where a Credential is. */
export interface Target {
  readonly namespace: string
  readonly name: CredentialName
}

/** Everything that a mint looks at, as it was read. */
export interface State {
  readonly application: Application
  readonly release: HelmRelease
  readonly rules: CredentialRules
  /** The name of the user as the application declares it. */
  readonly username: string
  readonly secret: StoredSecret | undefined
}

interface Readers {
  readonly kube: Pick<Kube, 'getHelmRelease' | 'getSecret'>
  readonly definitions: DefinitionLookup
}

/**
 * Reads the release, the definitions and the account Secret side by side, beside an access review. What is answered
 * resolves the account from them, and is for afterwards: sources may ask others, and nothing of it may reach a caller
 * who is not allowed to.
 */
export async function readState(
  { kube, definitions }: Readers,
  { namespace, name }: Target,
  options: CallOptions,
): Promise<() => Promise<Result<State>>> {
  const [release, known, secret] = await Promise.all([
    kube.getHelmRelease(namespace, name.release, options),
    definitions.load(options),
    kube.getSecret(namespace, secretNameOf(name), options),
  ])
  return () => resolveState(name, { release, known, secret })
}

interface Read {
  readonly release: Result<HelmRelease | undefined>
  readonly known: Result<Definitions>
  readonly secret: Result<StoredSecret | undefined>
}

async function resolveState(name: CredentialName, { release, known, secret }: Read): Promise<Result<State>> {
  const credential = credentialNameOf(name)
  const unknown = (why: string) => fail({ reason: 'credential_not_found', name: credential, why })

  if (!release.ok) return release
  if (release.value === undefined) return unknown(`there is no HelmRelease ${JSON.stringify(name.release)}`)
  const application = applicationOf(release.value)
  if (application === undefined)
    return unknown(`HelmRelease ${JSON.stringify(name.release)} is no application`)
  if (release.value.metadata.deletionTimestamp !== undefined) {
    return fail({ reason: 'release_terminating', name: credential, release: name.release })
  }

  if (!known.ok) return known
  const rules = known.value.rulesFor(application.kind)
  if (!rules.ok) return rules
  if (rules.value === undefined) {
    return unknown(`applications of kind ${application.kind} have no minted credentials`)
  }
  const account = findAccount(await resolveDeclared(rules.value, release.value), name)
  if (!account.ok) return account
  if (!secret.ok) return secret

  const { username } = account.value
  return ok({ application, release: release.value, rules: rules.value, username, secret: secret.value })
}
