import { inTurns } from '../core/in-turns.ts'
import { isSameJson } from '../core/json.ts'
import { ok, type Result } from '../core/result.ts'
import type { CallOptions, Kube, ListOptions } from '../k8s/kube.ts'
import { listAll } from '../k8s/list-all.ts'
import type { StoredSecret } from '../k8s/objects.ts'
import { adoptableSecret, hasOurType } from './account-secret.ts'
import { credentialOfSecret } from './naming.ts'
import { ACCOUNT_SELECTOR, viewOf } from './view.ts'

/** Which account Secrets: of a namespace or of all, of one release or of all. */
export interface AdoptTarget {
  readonly namespace: string | undefined
  readonly release: string | undefined
}

/** What became of an account Secret. */
export interface Given {
  readonly namespace: string
  readonly secret: string
  readonly release: string
  readonly result: /** Its release has given it up: the next one of that name may take it over. */
    | 'marked'
    /** It was like that before. */
    | 'unchanged'
    /** It was deleted, or is being deleted. */
    | 'gone'
    | 'failed'
  /** Why it failed. */
  readonly failure?: string
}

interface AdoptOptions extends CallOptions {
  /** Every check of the API server, and nothing stored. */
  readonly dryRun: boolean
}

const CONCURRENCY = 8
/** Against those who write at the same time, such as a mint. */
const MAX_TRIES = 5

/**
 * Marks account Secrets for the next release of their name, by one guarded update each, and takes away what ties them to
 * the release that there is: the garbage collector would delete them in a cluster where that one has another UID.
 * Whatever is not ours is left alone, and so are values and records. Fails when the list fails.
 */
export async function adopt(
  kube: Pick<Kube, 'listSecrets' | 'getSecret' | 'updateSecret'>,
  { namespace, release }: AdoptTarget,
  options: AdoptOptions,
): Promise<Result<readonly Given[]>> {
  const { dryRun: _, ...call } = options
  const list = (page: ListOptions) => kube.listSecrets(namespace, page)
  const listed = await listAll(list, { ...call, labelSelector: ACCOUNT_SELECTOR }, (secret) =>
    isOurs(secret) && (release === undefined || releaseOf(secret) === release) ? secret : undefined,
  )
  if (!listed.ok) return listed
  const given = new Map<StoredSecret, Given>()
  const each = async (secret: StoredSecret) => {
    given.set(secret, { ...nameOf(secret), ...(await markOne(kube, secret, options)) })
  }
  await inTurns(listed.value, CONCURRENCY, each, options.signal)
  return ok(listed.value.flatMap((secret) => given.get(secret) ?? []))
}

/** Whatever release it is of: a leftover of a restore is meant as well. */
const isOurs = (secret: StoredSecret): boolean => hasOurType(secret) && viewOf(secret) !== undefined

const releaseOf = ({ metadata }: StoredSecret): string => credentialOfSecret(metadata.name)?.release ?? ''

const nameOf = (secret: StoredSecret): Pick<Given, 'namespace' | 'secret' | 'release'> => ({
  namespace: secret.metadata.namespace ?? '',
  secret: secret.metadata.name,
  release: releaseOf(secret),
})

type Outcome = Pick<Given, 'result' | 'failure'>

/** Again when somebody else has written it, with what they wrote. */
async function markOne(
  kube: Pick<Kube, 'getSecret' | 'updateSecret'>,
  secret: StoredSecret | undefined,
  options: AdoptOptions,
  triesLeft = MAX_TRIES,
): Promise<Outcome> {
  if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return { result: 'gone' }
  const marked = adoptableSecret(secret)
  if (!isOurs(secret) || isSameMeta(marked, secret)) return { result: 'unchanged' }
  const written = await kube.updateSecret(marked, options)
  if (written.ok) return { result: 'marked' }
  const { reason } = written.failure
  const isRace = reason === 'kube_conflict' || reason === 'kube_absent'
  if (!isRace || triesLeft <= 1) return { result: 'failed', failure: reason }
  const read = await kube.getSecret(secret.metadata.namespace ?? '', secret.metadata.name, options)
  if (!read.ok) return { result: 'failed', failure: read.failure.reason }
  return markOne(kube, read.value, options, triesLeft - 1)
}

/** No owners are no owners, listed or not. */
const isSameMeta = (a: StoredSecret, b: StoredSecret): boolean =>
  isSameJson(a.metadata.annotations, b.metadata.annotations) &&
  isSameJson(a.metadata.ownerReferences ?? [], b.metadata.ownerReferences ?? [])
