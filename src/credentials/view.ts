import { textAt } from '../core/json.ts'
import type { StoredSecret } from '../k8s/objects.ts'
import { ACCOUNT_LABEL, usernameIn } from './account-secret.ts'
import { type Application, GROUP_LABEL, KIND_LABEL, NAME_LABEL } from './application.ts'
import { accountNameOf, credentialNameOf, credentialOfSecret } from './naming.ts'
import { type HistoryEntry, type Origin, readRecord } from './record.ts'

/** What the API shows of an account Secret: never its data, nor labels that are the operators'. */
export interface CredentialView {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly resourceVersion: string
    readonly creationTimestamp: string | undefined
    readonly labels: Readonly<Record<string, string>>
  }
  readonly spec: {
    readonly application: { readonly apiGroup: string; readonly kind: string; readonly name: string }
    readonly user: string
  }
  readonly status: {
    readonly password: { readonly origin: Origin; readonly at?: string; readonly by?: string }
    readonly history: readonly HistoryEntry[]
  }
}

/** The only labels that a Credential shows and that a selector may name. */
export const SHOWN_LABELS: readonly string[] = [GROUP_LABEL, KIND_LABEL, NAME_LABEL]

/** The selector for Secrets that may be account Secrets; `viewOf` decides. */
export const ACCOUNT_SELECTOR = `${ACCOUNT_LABEL}=true`

/**
 * Undefined for a Secret that is no account Secret: our label, a known origin, and a name that agrees with the labels
 * and the username. No definition is asked, so a broken one hides nothing.
 */
export function viewOf(secret: StoredSecret): CredentialView | undefined {
  const { metadata } = secret
  const record = readRecord(metadata.annotations)
  const name = credentialOfSecret(metadata.name)
  const user = usernameIn(secret)
  const application = applicationIn(metadata)
  if (textAt(metadata, 'labels', ACCOUNT_LABEL) !== 'true') return undefined
  if (record === undefined || name === undefined || user === undefined || application === undefined)
    return undefined
  if (accountNameOf(user) !== name.account || !name.release.endsWith(application.name)) return undefined

  const { origin, history } = record
  const [newest] = history
  return {
    metadata: {
      name: credentialNameOf(name),
      namespace: metadata.namespace ?? '',
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      creationTimestamp: metadata.creationTimestamp,
      labels: {
        [GROUP_LABEL]: application.group,
        [KIND_LABEL]: application.kind,
        [NAME_LABEL]: application.name,
      },
    },
    spec: {
      application: { apiGroup: application.group, kind: application.kind, name: application.name },
      user,
    },
    status: {
      password: { origin, ...(newest === undefined ? {} : { at: newest.at, by: newest.by }) },
      history,
    },
  }
}

function applicationIn(metadata: StoredSecret['metadata']): Application | undefined {
  const group = textAt(metadata.labels, GROUP_LABEL)
  const kind = textAt(metadata.labels, KIND_LABEL)
  const name = textAt(metadata.labels, NAME_LABEL)
  if (group === undefined || kind === undefined || name === undefined) return undefined
  return { group, kind, name }
}
