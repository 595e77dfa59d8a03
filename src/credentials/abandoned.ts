import { textAt } from '../core/json.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import { type Holder, hasOwner, releaseUidIn, storedValueIn, usernameIn } from './account-secret.ts'
import { type Application, KIND_LABEL } from './application.ts'

interface Of {
  readonly username: string
  readonly application: Application
  readonly rules: Pick<CredentialRules, 'format'>
}

/**
 * The seed of a create that failed after admission, or lost to another create of the same name: of the same kind and
 * user, nobody's, and never more than a seed. Nobody can know its password, so that whoever has the name may have it.
 */
export const isAbandonedSeed = (
  { secret, record }: Extract<Holder, { readonly is: 'leftover' }>,
  { username, application, rules }: Of,
): boolean =>
  !hasOwner(secret) &&
  releaseUidIn(secret) !== undefined &&
  usernameIn(secret) === username &&
  textAt(secret.metadata, 'labels', KIND_LABEL) === application.kind &&
  record.origin === 'NotIssued' &&
  record.history.length > 0 &&
  record.history.every(({ operation }) => operation === 'Create') &&
  rules.format.canonical.test(storedValueIn(secret) ?? '')
