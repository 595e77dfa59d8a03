import type { CredentialRules } from '../definitions/rules.ts'
import type { HelmRelease, StoredSecret } from '../k8s/objects.ts'
import { isAbandonedSeed } from './abandoned.ts'
import {
  adoptedSecret,
  declaredByIn,
  type Holder,
  hasOwner,
  isAdopted,
  reassignedSeed,
  releaseUidIn,
  undeclaredSince,
  usernameIn,
} from './account-secret.ts'
import type { Application } from './application.ts'
import type { NamedAccount } from './declared.ts'
import { mayBeKnown } from './record.ts'

/** For what account Secrets are made before a write of their release is stored. */
export interface Seeding {
  readonly release: HelmRelease
  readonly application: Application
  readonly rules: CredentialRules
  /**
   * Whether the release is stored. The garbage collector deletes what names an owner that is not
   * (`k8s.io/kubernetes/pkg/controller/garbagecollector`), so that a seed for one to come has no owner yet.
   */
  readonly isStored: boolean
}

/** What is to be done at the name of one account Secret. */
type Judgement =
  | { readonly do: 'nothing' }
  | { readonly do: 'create' }
  /** The seed of a create that failed, with the value that it has. */
  | { readonly do: 'take'; readonly secret: StoredSecret }
  /** It is of this release: its marks are completed. */
  | { readonly do: 'adopt'; readonly secret: StoredSecret }
  /** Something holds the name: what it is, and how to go on. */
  | { readonly do: 'refuse'; readonly why: string }

/** Nothing is deleted and nothing replaced: whatever stands there that is not this release's own is in the way. */
export function judge(holder: Holder, { username }: NamedAccount, seeding: Seeding): Judgement {
  if (holder.is === 'absent') return { do: 'create' }
  const { secret } = holder
  const refuse = (why: string): Judgement => ({
    do: 'refuse',
    why: `Secret ${JSON.stringify(secret.metadata.name)} holds the name of the one for user ${JSON.stringify(username)}: ${why}`,
  })
  if (holder.is === 'foreign') {
    return refuse(`${holder.why}; it is left alone: delete it or rename the user, then try again`)
  }
  if (secret.metadata.deletionTimestamp !== undefined) {
    return refuse('it is being deleted: try again when it is gone')
  }
  if (holder.is === 'ours') return judgeOurs(secret, seeding)
  const { release, isStored, rules } = seeding
  if (isAbandonedSeed(holder, { ...seeding, username })) {
    return {
      do: 'take',
      secret: isStored
        ? adoptedSecret(secret, release, rules.declaredBy)
        : reassignedSeed(secret, release.metadata.uid),
    }
  }
  return refuse(whyLeftover(holder, username))
}

function judgeOurs(secret: StoredSecret, { release, isStored, rules: { declaredBy } }: Seeding): Judgement {
  const isSettled =
    isAdopted(secret, release.metadata.uid) &&
    undeclaredSince(secret) === undefined &&
    declaredByIn(secret) === declaredBy
  return isStored && !isSettled
    ? { do: 'adopt', secret: adoptedSecret(secret, release, declaredBy) }
    : { do: 'nothing' }
}

function whyLeftover({ secret, record }: Extract<Holder, { is: 'leftover' }>, username: string): string {
  const other = usernameIn(secret)
  if (other !== undefined && other !== username) {
    return `it is of user ${JSON.stringify(other)}: delete it when that user is gone, or rename one of them`
  }
  const what = 'it is of an earlier application of this name'
  if (mayBeKnown(record.origin)) {
    return `${what}, and somebody may know its password: delete it, or hand it on with \`mintonce adopt\`, then try again`
  }
  if (hasOwner(secret)) return `${what}: wait until it has been collected, or delete it, then try again`
  // What has no owner no collector takes: it is an orphan, and a sweep gives it time.
  return releaseUidIn(secret) === undefined
    ? `${what}: delete it, then try again`
    : `${what}, and nothing owns it: delete it, or wait until a sweep has, after its time of grace, then try again`
}
