import { resolveDeclared } from '../definitions/resolve.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import type { CallOptions } from '../k8s/kube.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import { type AdmissionServices, applicationServed } from './admit-served.ts'
import { nameAccounts } from './declared.ts'
import { type ReadSecrets, readSecrets } from './holders.ts'
import type { Review } from './verdict.ts'

/**
 * The account Secrets that an update will probably ask about, for a read beside the one of the definitions: of accounts
 * that were there before and stay, by rules that may be a little old. Nothing where no rules are at hand, where they are
 * not `wanted`, or where a source asks others. What is asked about in the end, the rules say that are read now.
 */
export async function readAhead(
  { kube, definitions }: AdmissionServices,
  { namespace, object, oldObject }: Review,
  wanted: (rules: CredentialRules) => boolean,
  options: CallOptions,
): Promise<ReadSecrets> {
  const application = applicationServed(object)
  const known = application && definitions.atHand()?.rulesFor(application.kind)
  const rules = known?.ok ? known.value : undefined
  if (object === undefined || oldObject === undefined || rules?.declaredBy === undefined || !wanted(rules)) {
    return new Map()
  }
  const [names, before] = await Promise.all([secretNames(rules, object), secretNames(rules, oldObject)])
  return readSecrets(
    kube,
    namespace,
    names.filter((name) => before.includes(name)),
    options,
  )
}

async function secretNames(rules: CredentialRules, release: HelmRelease): Promise<readonly string[]> {
  const { accounts } = nameAccounts(await resolveDeclared(rules, release), release.metadata.name)
  return accounts.map(({ secretName }) => secretName)
}
