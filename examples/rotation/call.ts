import type { Login, Outcome } from './rotate.ts'

export interface Endpoint {
  /** Up to and with the namespace: `https://host/apis/<group>/v1alpha1/namespaces/<namespace>`. */
  readonly url: string
  /** Read for each call: a projected token is renewed in its file. */
  readonly token: () => Promise<string>
}

interface Issued {
  readonly kind?: string
  readonly message?: string
  readonly status?: { readonly username?: string; readonly password?: string }
}

export async function mint(to: Endpoint, credential: string): Promise<Outcome<Login>> {
  const outcome = await issue(to, credential, 'mint')
  if (outcome.kind !== 'Stored') return outcome
  const { username, password } = outcome.value.status ?? {}
  if (username === undefined || password === undefined) {
    return { kind: 'Unknown', message: `no password came of the mint of ${credential}` }
  }
  return { kind: 'Stored', value: { credential, username, password } }
}

export async function revoke(to: Endpoint, credential: string): Promise<Outcome<undefined>> {
  const outcome = await issue(to, credential, 'revoke')
  return outcome.kind === 'Stored' ? { kind: 'Stored', value: undefined } : outcome
}

/** Sends one request, once. What it throws about is never quoted: it might hold the token. */
async function issue(
  { url, token }: Endpoint,
  credential: string,
  verb: 'mint' | 'revoke',
): Promise<Outcome<Issued>> {
  const what = `${verb} of ${credential}`
  try {
    const answer = await fetch(`${url}/credentials/${credential}/${verb}`, {
      method: 'POST',
      redirect: 'error',
      headers: { Authorization: `Bearer ${await token()}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ kind: 'CredentialRequest' }),
      signal: AbortSignal.timeout(60_000),
    })
    const body = (await answer.json()) as Issued
    if (answer.status === 201) return { kind: 'Stored', value: body }
    const message = `${what}: ${answer.status} ${body.message ?? ''}`
    // A Status below 500 says that nothing was stored.
    return { kind: body.kind === 'Status' && answer.status < 500 ? 'Refused' : 'Unknown', message }
  } catch (error) {
    return { kind: 'Unknown', message: `${what}: ${error instanceof Error ? error.name : 'no answer'}` }
  }
}
