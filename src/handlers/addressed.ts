import { fail, ok, type Result } from '../core/result.ts'
import { parseCredentialName } from '../credentials/naming.ts'
import type { Target } from '../credentials/state.ts'
import { isDnsLabel } from '../k8s/names.ts'

/** The namespace of a path. Fails with `request_malformed`. */
export function parseNamespace(namespace: string): Result<string> {
  if (isDnsLabel(namespace)) return ok(namespace)
  return fail({ reason: 'request_malformed', message: 'the namespace in the path is no DNS-1123 label' })
}

/** The Credential that a path names. Fails with `request_malformed` for what can be no Credential's name. */
export function parseTarget(namespace: string, name: string): Result<Target> {
  const checked = parseNamespace(namespace)
  if (!checked.ok) return checked
  const parsed = parseCredentialName(name)
  if (parsed !== undefined) return ok({ namespace, name: parsed })
  return fail({
    reason: 'request_malformed',
    message:
      'the name in the path is no credential: expected <release>.<account>, a DNS-1123 subdomain such as "postgres-orders.web"',
  })
}
