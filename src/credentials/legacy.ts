import { own, textAt } from '../core/json.ts'
import { ok, type Result } from '../core/result.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import type { CallOptions, Kube } from '../k8s/kube.ts'
import { isDnsSubdomain } from '../k8s/names.ts'
import type { HelmRelease } from '../k8s/objects.ts'

interface Of {
  readonly release: Pick<HelmRelease, 'metadata'>
  readonly rules: Pick<CredentialRules, 'legacy'>
}

/** Passwords in the clear that a chart from before keeps for its accounts. */
export interface LegacyPasswords {
  readonly secretName: string
  /** Whether the account has one. While it has, that one works: a seed would cut its holders off. */
  readonly has: (username: string) => Promise<Result<boolean>>
}

/** Read when it is first asked about, by one GET for all accounts of the release; a failed one fails each of them. */
export function legacyPasswords(
  { getSecret }: Pick<Kube, 'getSecret'>,
  { release, rules: { legacy } }: Of,
  options: CallOptions,
): LegacyPasswords {
  const { name, namespace = '' } = release.metadata
  const secretName = legacy.secretName(name)
  let reading: ReturnType<Kube['getSecret']> | undefined
  return {
    secretName,
    async has(username) {
      // A long name of a release may make none: then there is no such Secret.
      if (!isDnsSubdomain(secretName)) return ok(false)
      reading ??= getSecret(namespace, secretName, options)
      const read = await reading
      return read.ok ? ok(Boolean(textAt(own(read.value, 'data'), legacy.key(username)))) : read
    },
  }
}
