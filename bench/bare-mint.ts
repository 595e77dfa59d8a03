/**
 * A mint with nothing around it: `node:http` or `node:https`, the calls that a first mint makes and its hash, no server,
 * no checks, no errors told apart. Prints the password. What any mint in a process of its own costs at least, run as
 * CommonJS: an `import` of `node:http` reads what it exports, WebSocket among it, and so loads Node's whole Fetch API.
 */
import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import * as http from 'node:http'
import * as https from 'node:https'
import { promisify } from 'node:util'

const { URL: server = '', CA_FILE = '', TOKEN_FILE = '', CALLER_TOKEN = '', NAMESPACE = '' } = process.env
const [application = '', user = ''] = (process.env.CREDENTIAL ?? '').split('.')

const isSecure = server.startsWith('https:')
const { Agent, request } = isSecure ? https : http
const agent = new Agent({ keepAlive: true, ...(isSecure ? { ca: readFileSync(CA_FILE) } : {}) })
const authorization = `Bearer ${readFileSync(TOKEN_FILE, 'utf8')}`

/** Whoever measures it ends it: it goes on as a server would. */
async function mint(): Promise<void> {
  const review = await send('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token: CALLER_TOKEN, audiences: ['mintonce'] },
  })
  const secretPath = `/api/v1/namespaces/${NAMESPACE}/secrets/${application}.${user}.account`
  const [secret] = await Promise.all([
    send('GET', secretPath),
    send('GET', `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${NAMESPACE}/helmreleases/${application}`),
    send('GET', '/apis/cozystack.io/v1alpha1/applicationdefinitions'),
    send('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: review.status.user.username,
        groups: review.status.user.groups,
        resourceAttributes: {
          namespace: NAMESPACE,
          verb: 'create',
          group: 'core.cozystack.io',
          resource: 'credentials',
          subresource: 'mint',
          name: `${application}.${user}`,
        },
      },
    }),
  ])
  const password = randomBytes(16).toString('hex')
  const stored = Buffer.from(await verifierOf(password)).toString('base64')
  await send('PUT', secretPath, { ...secret, data: { ...secret.data, password: stored } })
  process.stdout.write(`password ${password}\n`)
  setTimeout(() => undefined, 60_000)
}

void mint()

/** SCRAM-SHA-256 (RFC 5802, RFC 7677), as PostgreSQL stores it. */
async function verifierOf(text: string): Promise<string> {
  const salt = randomBytes(16)
  const salted = await promisify(pbkdf2)(text, salt, 4096, 32, 'sha256')
  const hmac = (message: string) => createHmac('sha256', salted).update(message).digest()
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64')
  return `SCRAM-SHA-256$4096:${salt.toString('base64')}$${storedKey}:${hmac('Server Key').toString('base64')}`
}

// biome-ignore lint/suspicious/noExplicitAny: nothing is checked here, by intention
function send(method: string, path: string, body?: object): Promise<any> {
  const text = body === undefined ? '' : JSON.stringify(body)
  const headers = { authorization, 'content-type': 'application/json', 'content-length': text.length }
  return new Promise((resolve, reject) => {
    request(new URL(path, server), { method, headers, agent }, (answer) => {
      let read = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        read += chunk
      })
      answer.once('end', () => {
        const isDone = (answer.statusCode ?? 500) < 300
        if (isDone) resolve(JSON.parse(read))
        else reject(new Error(`${method} ${path}: ${answer.statusCode}`))
      })
    })
      .once('error', reject)
      .end(text)
  })
}
