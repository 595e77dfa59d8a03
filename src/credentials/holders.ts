import { inTurns } from '../core/in-turns.ts'
import { ok, type Result } from '../core/result.ts'
import type { CallOptions, Kube, ListOptions } from '../k8s/kube.ts'
import { listAll } from '../k8s/list-all.ts'
import type { HelmRelease, StoredSecret } from '../k8s/objects.ts'
import { type Holder, holderOf } from './account-secret.ts'
import { applicationOf, KIND_LABEL, NAME_LABEL } from './application.ts'
import type { NamedAccount } from './declared.ts'
import { ACCOUNT_SELECTOR } from './view.ts'

type Services = { readonly kube: Pick<Kube, 'getSecret' | 'listSecrets'> }
type Of = { readonly release: Pick<HelmRelease, 'metadata'> }

/** Reads at once: an API server is not to be flooded by one review. */
const AT_ONCE = 8
/** From so many accounts on one list is faster than a read of each, although it waits for the API server's cache. */
const MANY = 32

interface Options extends CallOptions {
  /** There is nothing to be expected at most of the names: each is asked about. */
  readonly isNew?: boolean
  /** What was read just now, by name. */
  readonly known?: ReadSecrets
}

/** What stands at the names of Secrets, where it could be read. */
export type ReadSecrets = ReadonlyMap<string, StoredSecret | undefined>

/**
 * What stands at the names of these accounts; a failure for those that could not be read. Of many accounts the Secrets
 * with the labels of their application are read by one list, and only what that does not find one by one.
 */
export async function readHolders(
  services: Services,
  of: Of,
  accounts: readonly NamedAccount[],
  { isNew = false, known = NOTHING, ...options }: Options,
): Promise<ReadonlyMap<NamedAccount, Result<Holder>>> {
  const { uid } = of.release.metadata
  const left = accounts.filter(({ secretName }) => !known.has(secretName))
  const listed = isNew || left.length < MANY ? known : await listOf(services, of, options)
  const found = new Map<NamedAccount, Result<Holder>>()
  await inTurns(accounts, AT_ONCE, async (account) => {
    const { secretName, username } = account
    found.set(
      account,
      listed.has(secretName)
        ? ok(holderOf(listed.get(secretName), username, uid))
        : await readHolder(services, of, account, options),
    )
  })
  return found
}

const NOTHING: ReadSecrets = new Map()

/**
 * What stands at a few names, for a guess at what will be asked about: what cannot be read is left out, and all of them when they
 * are more than are read at once. Whoever may send a made-up review makes us do this for nothing.
 */
export async function readSecrets(
  kube: Pick<Kube, 'getSecret'>,
  namespace: string,
  names: readonly string[],
  options: CallOptions,
): Promise<ReadSecrets> {
  const found = new Map<string, StoredSecret | undefined>()
  if (names.length > AT_ONCE) return found
  await inTurns(names, AT_ONCE, async (name) => {
    const secret = await kube.getSecret(namespace, name, options)
    if (secret.ok) found.set(name, secret.value)
  })
  return found
}

/** Best effort: what a list does not tell is read. */
async function listOf({ kube }: Services, { release }: Of, options: CallOptions): Promise<ReadSecrets> {
  const application = applicationOf(release)
  if (application === undefined) return NOTHING
  const list = (page: ListOptions) => kube.listSecrets(release.metadata.namespace ?? '', page)
  const labelSelector = `${ACCOUNT_SELECTOR},${KIND_LABEL}=${application.kind},${NAME_LABEL}=${application.name}`
  const read = await listAll(
    list,
    { ...options, labelSelector },
    (secret) => [secret.metadata.name, secret] as const,
  )
  return read.ok ? new Map(read.value) : NOTHING
}

/** What stands at the name of one account's Secret now. */
export async function readHolder(
  { kube }: { readonly kube: Pick<Kube, 'getSecret'> },
  { release: { metadata } }: Of,
  { secretName, username }: Pick<NamedAccount, 'secretName' | 'username'>,
  options: CallOptions,
): Promise<Result<Holder>> {
  const secret = await kube.getSecret(metadata.namespace ?? '', secretName, options)
  return secret.ok ? ok(holderOf(secret.value, username, metadata.uid)) : secret
}
