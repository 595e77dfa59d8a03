import type { Login, Outcome } from './rotate.ts'

export interface Endpoint {
  /** Up to and with the namespace: `https://host/apis/<group>/v1alpha1/namespaces/<namespace>`. */
  readonly url: string
  /** Read for each call: a projected token is renewed in its file. */
  readonly token: () => Promise<string>
}

/** Of a Credential: what a read has shown, and a later call demands. */
export interface Version {
  readonly uid: string
  readonly resourceVersion: string
}

interface Answered {
  readonly kind?: string
  readonly message?: string
  readonly metadata?: { readonly uid?: unknown; readonly resourceVersion?: unknown }
  readonly status?: { readonly username?: unknown; readonly password?: unknown }
}

/** The answer to a read is never a password. */
export async function versionOf(to: Endpoint, credential: string): Promise<Outcome<Version>> {
  const outcome = await call(to, 200, credential)
  if (outcome.kind !== 'Stored') return outcome
  const { uid, resourceVersion } = outcome.value.metadata ?? {}
  if (!isText(uid) || !isText(resourceVersion)) return unknown(`get of ${credential}: no Credential came`)
  return { kind: 'Stored', value: { uid, resourceVersion } }
}

/** Refused when the Credential has changed since. */
export async function mint(to: Endpoint, credential: string, since: Version): Promise<Outcome<Login>> {
  const outcome = await call(to, 201, credential, 'mint', since)
  if (outcome.kind !== 'Stored') return outcome
  const { username, password } = outcome.value.status ?? {}
  if (!isText(username) || !isText(password)) {
    return unknown(`no password came of the mint of ${credential}`)
  }
  return { kind: 'Stored', value: { credential, username, password } }
}

/** Refused when the Credential has changed since. */
export async function revoke(to: Endpoint, credential: string, since: Version): Promise<Outcome<undefined>> {
  const outcome = await call(to, 201, credential, 'revoke', since)
  return outcome.kind === 'Stored' ? { kind: 'Stored', value: undefined } : outcome
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const unknown = (message: string): Outcome<never> => ({ kind: 'Unknown', message })

/** Sends one request, once; a read without a verb. What it throws about is never quoted: it might hold the token. */
async function call(
  { url, token }: Endpoint,
  expected: number,
  credential: string,
  verb?: 'mint' | 'revoke',
  preconditions?: Version,
): Promise<Outcome<Answered>> {
  const what = `${verb ?? 'get'} of ${credential}`
  const body = JSON.stringify({ kind: 'CredentialRequest', spec: { preconditions } })
  try {
    const answer = await fetch(`${url}/credentials/${credential}${verb === undefined ? '' : `/${verb}`}`, {
      redirect: 'error',
      headers: { Authorization: `Bearer ${await token()}`, 'Content-Type': 'application/json' },
      ...(verb === undefined ? {} : { method: 'POST', body }),
      signal: AbortSignal.timeout(60_000),
    })
    const answered = ((await answer.json()) ?? {}) as Answered
    if (answer.status === expected) return { kind: 'Stored', value: answered }
    const message = `${what}: ${answer.status} ${answered.message ?? ''}`
    // A Status below 500 says that nothing was stored.
    const isRefused = answered.kind === 'Status' && answer.status >= 400 && answer.status < 500
    return { kind: isRefused ? 'Refused' : 'Unknown', message }
  } catch (error) {
    return unknown(`${what}: ${error instanceof Error ? error.name : 'no answer'}`)
  }
}
