import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import type { BareSend } from './bare-client.ts'

export interface BareMint {
  readonly namespace: string
  /** The HelmRelease. */
  readonly release: string
  /** The Credential: its account Secret is there. */
  readonly credential: string
  readonly group: string
  /** Who asks: a token that the API server reviews, or somebody who is known already. */
  readonly caller:
    | { readonly token: string }
    | { readonly username: string; readonly groups: readonly string[] }
  /** Whether the definitions are listed: the first mint of a process does, and then one every 30 seconds. */
  readonly listsDefinitions?: boolean
  /** What is stored of a password. Left out: something as long that costs nothing. */
  readonly hash?: (password: string) => Promise<string>
}

/** The calls of a mint, in its order, each as soon as it can be made. Answers the password. */
export async function mintBare(send: BareSend, mint: BareMint): Promise<string> {
  const { namespace, release, credential, caller, hash = unhashed } = mint
  const user = 'token' in caller ? await reviewed(send, caller.token) : caller
  const secretPath = `/api/v1/namespaces/${namespace}/secrets/${credential}.account`
  const [secret] = await Promise.all([
    send('GET', secretPath),
    send('GET', `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases/${release}`),
    mint.listsDefinitions ? send('GET', '/apis/cozystack.io/v1alpha1/applicationdefinitions') : undefined,
    send('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', accessReviewOf(mint, user)),
  ])
  const password = randomBytes(16).toString('hex')
  const stored = Buffer.from(await hash(password)).toString('base64')
  const changed = { ...secret, data: { ...secret.data, password: stored } }
  await send('PUT', `${secretPath}?fieldManager=mintonce`, changed)
  return password
}

/** SCRAM-SHA-256 as PostgreSQL stores it has as many characters. */
const unhashed = async (text: string) => text.padEnd(133, '.')

interface User {
  readonly username: string
  readonly groups: readonly string[]
}

async function reviewed(send: BareSend, token: string): Promise<User> {
  const review = await send('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token, audiences: ['mintonce'] },
  })
  return review.status.user
}

const accessReviewOf = ({ namespace, group, credential }: BareMint, { username, groups }: User) => ({
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  spec: {
    user: username,
    groups,
    resourceAttributes: {
      namespace,
      verb: 'create',
      group,
      resource: 'credentials',
      subresource: 'mint',
      name: credential,
    },
  },
})

/** SCRAM-SHA-256 (RFC 5802, RFC 7677), as PostgreSQL stores it. */
export async function bareScram(text: string): Promise<string> {
  const salt = randomBytes(16)
  const salted = await promisify(pbkdf2)(text, salt, 4096, 32, 'sha256')
  const hmac = (message: string) => createHmac('sha256', salted).update(message).digest()
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64')
  return `SCRAM-SHA-256$4096:${salt.toString('base64')}$${storedKey}:${hmac('Server Key').toString('base64')}`
}

/** As the function's own is: about as long. */
export const bareEvent = (namespace: string, name: string) => ({
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name: `bench.${name}`, namespace },
  eventTime: new Date().toISOString().replace('Z', '000Z'),
  type: 'Normal',
  reason: 'PasswordMinted',
  action: 'Mint',
  note: 'a note of the length that such a note has, more or less, with a name in it',
  reportingController: 'bench',
  reportingInstance: 'bench',
  regarding: {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    name: 'postgres-orders',
    namespace,
  },
})
