/** Why a release, or an account of it, was left out: what is so, in general words, and what to do about it. */
interface CauseWords {
  readonly what: string
  readonly hint: string
}

const AGAIN = 'then run the conversion again'

/** Each cause of a skip by its name, under which the record, the log and the Event give it. */
export const CAUSES = {
  CredentialsMissing: {
    what: 'the Secret with the passwords from before is not there',
    hint: 'mint the passwords of its accounts after the chart has switched, or restore the Secret, then run the conversion again',
  },
  PasswordMissing: {
    what: 'the Secret has no password for the account, or an empty one',
    hint: `let the chart write it (a change of the application makes it render again), ${AGAIN}; or mint the password after the switch`,
  },
  PasswordUnreadable: {
    what: 'the password is no UTF-8 text',
    hint: 'mint the password of the account after the chart has switched',
  },
  PasswordUnconvertible: {
    what: 'the format cannot store exactly this password',
    hint: 'mint the password of the account after the chart has switched, or set a plainer one in the application and run the conversion again',
  },
  PasswordLooksStored: {
    what: 'the password has the form of a stored value, and the engine has taken it for one: what logs in is not this text',
    hint: 'mint the password of the account after the chart has switched',
  },
  PasswordChanging: {
    what: 'the password changed again and again while it was read',
    hint: `see who writes the Secret, ${AGAIN}`,
  },
  PasswordChanged: {
    what: 'the password has changed since its value was stored, and the engine would be given the value of the old one',
    hint: 'delete the account Secret and run the conversion again, which carries over what the Secret from before has; where that has none, take the one out of the values if nobody uses it; or mint the password',
  },
  SecretForeign: {
    what: "a Secret that is not mintonce's holds the name of an account Secret",
    hint: `delete it or rename the user, ${AGAIN}`,
  },
  SecretLeftover: {
    what: 'the account Secret is of an earlier release or of another user',
    hint: `adopt it (mintonce adopt) or delete it, ${AGAIN}`,
  },
  SecretTerminating: {
    what: 'the account Secret is being deleted',
    hint: 'run the conversion again when it is gone',
  },
  SecretImmutable: {
    what: 'the account Secret is immutable, and holds the value of a password that nobody knows',
    hint: `delete it, ${AGAIN}`,
  },
  NamesCollide: {
    what: 'two usernames map to one account name',
    hint: `rename one of the users, ${AGAIN}`,
  },
  NameInvalid: {
    what: 'the username, or the name of the release, makes no valid name of an account',
    hint: `rename the user, ${AGAIN}; an application whose own name is the reason has to move to one of another name`,
  },
  NameReserved: {
    what: 'the username is that of an account of the platform, or maps to its name',
    hint: `rename the user, ${AGAIN}`,
  },
  ValuesUnreadable: {
    what: 'the values of the release cannot be read as its definition says, or not all of them',
    hint: `put the accounts into the values of the application in the form that the definition reads, ${AGAIN}`,
  },
  WebhookNeeded: {
    what: 'the format or an account source of the kind is a webhook, which the command line does not call',
    hint: 'convert the applications of this kind with the migration that its engine ships, or mint their passwords after the switch',
  },
  ReadFailed: {
    what: 'the Kubernetes API did not answer what was asked',
    hint: 'run the conversion again',
  },
  WriteRefused: {
    what: 'the Kubernetes API did not store what was written',
    hint: `see what refuses it (a quota, a policy, a namespace that goes away), ${AGAIN}`,
  },
  DefinitionMissing: {
    what: 'no definition of its kind says how credentials are made',
    hint: 'name the file of the definition (--definitions) or apply it, then run the job again',
  },
  NotSwitched: {
    what: 'the release is not Ready on another chart version than the recorded one',
    hint: 'see why Flux has not upgraded it, then run the job again',
  },
  StillTenantReadable: {
    what: 'tenants can still read the Secret with the passwords',
    hint: 'upgrade the chart that closes it, then run the job again; a label that the chart does not render as "false" stays until kubectl label --overwrite',
  },
  SuspendedElsewhere: {
    what: 'somebody else has suspended the release',
    hint: 'resume it when whoever suspended it is done, then run the job again',
  },
  RotationFailed: {
    what: 'a password of the platform could not be changed in the engine',
    hint: 'see that the engine is up, then run the job again: it goes on with the password that it has begun with',
  },
  ReleaseReplaced: {
    what: 'the release that was recorded is gone, and another one has its name: nothing of it was touched',
    hint: 'run the hook again, which records the one that is there now, or takes the entry out where nothing is to be converted; then run the job again',
  },
  RotationAbandoned: {
    what: 'the release went away during a rotation, and its engine may live on with the password that is kept there',
    hint: 'give what the engine takes, the password that is kept or the one from before, to whoever runs it, or see that it is gone; then delete the Secret that is kept in the namespace of the platform, and run the job again',
  },
} as const satisfies Readonly<Record<string, CauseWords>>

export type CauseName = keyof typeof CAUSES

const OF_JOB: ReadonlySet<CauseName> = new Set<CauseName>([
  'DefinitionMissing',
  'NotSwitched',
  'StillTenantReadable',
  'SuspendedElsewhere',
  'RotationFailed',
  'ReleaseReplaced',
  'RotationAbandoned',
])

/** Whether the hook finds it, and the job only when it does the hook's work. */
export const isHookCause = (cause: CauseName): boolean => !OF_JOB.has(cause)

/** One thing that was left out of a release. */
export interface Skip {
  readonly cause: CauseName
  /** About these names, without the hint. Never a password, nor a value that is stored. */
  readonly message: string
}

export const isCauseName = (name: unknown): name is CauseName =>
  typeof name === 'string' && Object.hasOwn(CAUSES, name)

/** What to do about it. */
export const hintOf = (cause: CauseName): string => CAUSES[cause].hint

/** In the general words of its cause, about something: `user "web"`. */
export const skip = <Cause extends CauseName>(
  cause: Cause,
  about: string,
  more = '',
): Skip & { readonly cause: Cause } => ({
  cause,
  message: `${about}: ${CAUSES[cause].what}${more === '' ? '' : ` (${more})`}`,
})
