import type { Cause } from '../core/failure.ts'
import { resolveDeclared } from '../definitions/resolve.ts'
import type { WriteOptions } from '../k8s/kube.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import { type AdmissionServices, applicationServed, type Served, servedBy } from './admit-served.ts'
import { nameAccounts } from './declared.ts'
import { refusedSeeding, seedAccounts } from './seeding.ts'
import { ALLOWED, allowed, type Refusal, type Review, refused, type Verdict } from './verdict.ts'
import { type Problem, problemsOf, ratchet } from './written.ts'

type Options = WriteOptions & { readonly by: string }

export const READING = 'the accounts of the application could not be looked at'

/**
 * A release that is to be created: names are checked, and each account gets its Secret first, so that the chart finds
 * it. Also the create of a name that exists comes here, with a UID of its own, before the API server refuses it
 * (`k8s.io/apiserver/pkg/registry/generic/registry/store.go`): for such a one nothing is written.
 */
export async function admitCreate(
  services: AdmissionServices,
  review: Review,
  options: Options,
): Promise<Verdict> {
  if (applicationServed(review.object) === undefined) return ALLOWED
  const { kube } = services
  const [served, namespace, stored] = await Promise.all([
    servedBy(services, review.object, options),
    kube.getNamespace(review.namespace, options),
    kube.getHelmRelease(review.namespace, review.name, options),
  ])
  if (!served.ok) return refused({ is: 'failed', what: READING, failure: served.failure })
  if (served.value === undefined) return ALLOWED
  if (!namespace.ok) return refused({ is: 'failed', what: READING, failure: namespace.failure })
  if (!stored.ok) return refused({ is: 'failed', what: READING, failure: stored.failure })
  if (namespace.value === undefined) {
    return refused({
      is: 'forbidden',
      messages: [`namespace ${JSON.stringify(review.namespace)} does not exist`],
    })
  }
  return stored.value === undefined
    ? createNew(services, served.value, options)
    : createAgain(served.value, stored.value)
}

async function createNew(
  services: AdmissionServices,
  { release, application, rules }: Served,
  options: Options,
): Promise<Verdict> {
  const declared = await resolveDeclared(rules, release)
  if (declared.failure !== undefined) {
    return refused({ is: 'failed', what: READING, failure: declared.failure })
  }
  const problems = problemsOf(rules, declared, release)
  if (problems.length > 0) return refused(invalid({ release, application, rules }, problems))
  const { accounts } = nameAccounts(declared, release.metadata.name)
  if (accounts.length === 0) return ALLOWED
  const { name, uid } = release.metadata
  if (name.includes('.')) {
    return refused({ is: 'invalid', application, causes: [DOTTED] })
  }
  // A mutating webhook is asked before there is one: without it nobody could tell whose the Secret is.
  if (uid === '') return refused({ is: 'forbidden', messages: [WITHOUT_UID] })
  const seeding = { release, application, rules, isStored: false }
  const seeded = await seedAccounts(services, seeding, accounts, options)
  if (!seeded.ok) return refusedSeeding(seeded.failure)
  const { refusals, warnings } = seeded.value
  return refusals.length > 0 ? refused({ is: 'forbidden', messages: refusals }) : allowed({ warnings })
}

/** What was wrong in it before does not keep a client from being told that it exists. */
async function createAgain(served: Served, stored: HelmRelease): Promise<Verdict> {
  const { rules, release } = served
  const after = problemsOf(rules, await resolveDeclared(rules, release), release)
  const before = problemsOf(rules, await resolveDeclared(rules, stored), stored)
  const { introduced } = ratchet(after, before)
  return introduced.length > 0 ? refused(invalid(served, introduced)) : ALLOWED
}

export const invalid = ({ application }: Served, problems: readonly Problem[]): Refusal => ({
  is: 'invalid',
  application,
  causes: problems.map(({ cause }) => cause),
})

const DOTTED: Cause = {
  reason: 'FieldValueInvalid',
  field: 'metadata.name',
  message: 'must hold no dot: names of credentials are split at the first one',
}

const WITHOUT_UID =
  'the object of this review has no uid yet, as in a mutating webhook: account Secrets are made by a validating one'
