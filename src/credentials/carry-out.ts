import type { Deps } from '../core/deps.ts'
import type { Failure } from '../core/failure.ts'
import { isSameJson } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { toTimestamp } from '../core/text.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import { deriveStored } from '../formats/derive.ts'
import type { CallOptions, Kube } from '../k8s/kube.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import {
  type AccountSecretOf,
  adoptedSecret,
  changedSecret,
  newSecret,
  undeclaredSecret,
} from './account-secret.ts'
import type { Application } from './application.ts'
import type { NamedAccount } from './declared.ts'
import { credentialNameOf } from './naming.ts'
import { generatePassword } from './password.ts'
import type { Step } from './plan.ts'
import { addEntry, type HistoryEntry } from './record.ts'
import { hasLanded } from './release-state.ts'

export interface Done {
  readonly what: 'created' | 'adopted' | 'marked' | 'deleted'
  readonly credential: string
}

type Carried = { readonly done: readonly Done[] } & (
  | { readonly is: 'finished' }
  /** Somebody was faster at one of the objects: it has to be looked at again. */
  | { readonly is: 'overtaken' }
  | { readonly is: 'failed'; readonly failure: Failure }
)

interface Services {
  readonly kube: Pick<Kube, 'createSecret' | 'updateSecret' | 'deleteSecret' | 'getHelmRelease'>
  readonly deps: Pick<Deps, 'now' | 'randomBytes' | 'log'>
}

interface Planned {
  readonly release: HelmRelease
  readonly application: Application
  readonly rules: CredentialRules
  readonly steps: readonly Step[]
}

/** Whom records name. */
export interface Asker {
  readonly by: string
  readonly impersonator?: string
}

type Options = CallOptions & Asker

/**
 * Carries a plan out, each step by one write that is guarded by what was read, one after the other. A step that lost a
 * race, or that the API server refuses for what it would write, holds up none of the others: a delete may be what makes
 * room under a quota. Any other failure ends it, for the rest would fail in the same way.
 */
export async function carryOut(services: Services, planned: Planned, options: Options): Promise<Carried> {
  const done: Done[] = []
  const failures: Failure[] = []
  for (const step of planned.steps) {
    const carried = await carryOutStep(services, planned, step, options)
    if (!carried.ok) {
      failures.push(carried.failure)
      if (!isOfOneObject(carried.failure)) break
    } else if (carried.value !== undefined) {
      done.push(carried.value)
      const { namespace = '' } = planned.release.metadata
      services.deps.log('info', 'account_secret', { ...carried.value, namespace, by: options.by })
    }
  }
  const failure = failures.find((each) => !isRace(each))
  if (failure !== undefined) return { is: 'failed', failure, done }
  return { is: failures.length > 0 ? 'overtaken' : 'finished', done }
}

/** Each of them says that the object is not, or no longer, what was read. */
const isRace = ({ reason }: Failure): boolean =>
  reason === 'kube_conflict' || reason === 'kube_exists' || reason === 'kube_absent'

const OF_ONE_OBJECT: ReadonlySet<Failure['reason']> = new Set([
  'kube_quota_exceeded',
  'kube_invalid',
  'kube_immutable',
  'value_not_canonical',
])

const isOfOneObject = (failure: Failure): boolean => isRace(failure) || OF_ONE_OBJECT.has(failure.reason)

async function carryOutStep(
  services: Services,
  planned: Planned,
  step: Step,
  options: Options,
): Promise<Result<Done | undefined>> {
  switch (step.do) {
    case 'warn':
      return ok(undefined)
    case 'seed':
      return did('created', step.account, await seed(services, planned, step.account, options))
    case 'replace': {
      const { namespace = '', name, uid, resourceVersion } = step.holder.secret.metadata
      const cleared = await services.kube.deleteSecret(namespace, name, { uid, resourceVersion }, options)
      if (!cleared.ok) return cleared
      return did('created', step.account, await seed(services, planned, step.account, options))
    }
    case 'refill':
      return did('created', step.account, await refill(services, planned, step, options))
    case 'adopt': {
      const adopted = adoptedSecret(step.holder.secret, planned.release, planned.rules.declaredBy)
      return did('adopted', step.account, await services.kube.updateSecret(adopted, options))
    }
    case 'mark': {
      const marked = undeclaredSecret(step.secret, toTimestamp(services.deps.now()))
      return did('marked', step, await services.kube.updateSecret(marked, options))
    }
    case 'delete':
      return did('deleted', step, await deleteUndeclared(services, planned, step, options))
  }
}

const did = (
  what: Done['what'],
  { name }: Pick<NamedAccount, 'name'>,
  written: Result<unknown>,
): Result<Done> => (written.ok ? ok({ what, credential: credentialNameOf(name) }) : written)

/** The value of a random password that is thrown away: nobody can log in as the user, who may exist all the same. */
export async function seedValue(
  { format, valuesPath }: Pick<CredentialRules, 'format' | 'valuesPath'>,
  username: string,
  deps: Pick<Deps, 'randomBytes'>,
): Promise<Result<string>> {
  return deriveStored(format, { username, password: generatePassword(deps) }, deps, { valuesPath })
}

/** The first entry of a record. */
export const createdBy = (by: string, now: number, impersonator?: string): HistoryEntry => ({
  operation: 'Create',
  at: toTimestamp(now),
  by,
  ...(impersonator === undefined ? {} : { impersonator }),
})

async function seed({ kube, deps }: Services, planned: Planned, account: NamedAccount, options: Options) {
  const stored = await seedValue(planned.rules, account.username, deps)
  if (!stored.ok) return stored
  const record = {
    origin: 'NotIssued',
    history: addEntry([], createdBy(options.by, deps.now(), options.impersonator)),
  } as const
  return kube.createSecret(newSecret(accountSecretOf(planned, account), stored.value, record), options)
}

async function refill(
  { kube, deps }: Services,
  planned: Planned,
  { account, holder }: Extract<Step, { do: 'refill' }>,
  options: Options,
) {
  const stored = await seedValue(planned.rules, account.username, deps)
  if (!stored.ok) return stored
  const history = addEntry(holder.record.history, createdBy(options.by, deps.now(), options.impersonator))
  const of = accountSecretOf(planned, account)
  return kube.updateSecret(
    changedSecret(of, holder.secret, stored.value, { origin: 'NotIssued', history }),
    options,
  )
}

export const accountSecretOf = (
  { release, application, rules }: Pick<Planned, 'release' | 'application' | 'rules'>,
  { username, secretName }: NamedAccount,
): AccountSecretOf => ({
  name: secretName,
  namespace: release.metadata.namespace ?? '',
  username,
  application,
  release,
  secretLabels: rules.secretLabels,
  declaredBy: rules.declaredBy,
})

/** The release is read once more: one that has been written since may declare the account again, or be of another kind. */
async function deleteUndeclared(
  { kube }: Services,
  { release }: Planned,
  { secret }: Extract<Step, { do: 'delete' }>,
  options: Options,
) {
  const { namespace = '', name, uid, resourceVersion } = secret.metadata
  const now = await kube.getHelmRelease(namespace, release.metadata.name, options)
  if (!now.ok) return now
  const isSame =
    now.value?.metadata.uid === release.metadata.uid &&
    now.value.metadata.generation === release.metadata.generation &&
    isSameJson(now.value.metadata.labels, release.metadata.labels)
  if (!isSame || !hasLanded(now.value)) return fail({ reason: 'kube_conflict' })
  return kube.deleteSecret(namespace, name, { uid, resourceVersion }, options)
}
