import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import type { StartApi } from './start-api.ts'
import { measureProcess, type Program, type Sample } from './start-process.ts'

/** How the function is started, and how it is reached. */
export interface Start extends Program {
  /** HTTPS on both sides, to the API server and from the caller; or to the API server only. */
  readonly secure?: boolean | 'upstream'
  /** Where it listens. Left out: anywhere. */
  readonly port?: number
  /** Where it is called, when something stands before it. */
  readonly through?: string
}

/** `log` of a process that serves: it listens, and on which port. */
const LISTENING = /"event":"listening".*"port":(\d+)/
const GROUP = 'core.cozystack.io'

/** Node and nothing else, until it runs what it was given. */
export async function startNothing(): Promise<Sample> {
  const script = 'fs.writeSync(1, "up"); setTimeout(() => 0, 60_000)'
  const { sample } = await measureProcess({ args: ['-e', script] }, /(up)/, () => undefined)
  return sample
}

/** The bare script until it has printed its password. */
export async function mintBare(api: StartApi, start: Start): Promise<Sample & { readonly password: string }> {
  const program = bareOf(api, start)
  const { sample, value } = await measureProcess(program, /password (\w+)\n/, (found) => found)
  return { ...sample, password: value }
}

/** The bare script as a server, until it has answered one request, sent as soon as it listens. */
export async function serveBare(
  api: StartApi,
  start: Start,
): Promise<Sample & { readonly password: string }> {
  const { certFile, keyFile } = api.serving
  const tls = start.secure === true ? { CERT_FILE: certFile, KEY_FILE: keyFile } : {}
  const program = bareOf(api, { ...start, env: { ...start.env, ...tls, SERVE: 'yes' } })
  const { sample, value } = await measureProcess(program, LISTENING, (port) =>
    call(api, start, { port, method: 'POST', path: '/' }),
  )
  return { ...sample, password: JSON.parse(value).status.password }
}

function bareOf(api: StartApi, start: Start): Program {
  const { url, caFile, tokenFile } = start.secure ? api.secure : api.plain
  return {
    ...start,
    env: {
      ...start.env,
      URL: url,
      CA_FILE: caFile,
      TOKEN_FILE: tokenFile,
      CALLER_TOKEN: api.callerToken,
      NAMESPACE: api.namespace,
      CREDENTIAL: api.credential,
    },
  }
}

/** The function until it has answered one `GET /livez`, sent as soon as it listens. */
export async function startToLivez(api: StartApi, start: Start): Promise<Sample> {
  const { sample } = await measureProcess(functionOf(api, start), LISTENING, (port) =>
    call(api, start, { port, method: 'GET', path: '/livez' }),
  )
  return sample
}

/** The function until it has answered one mint, sent as soon as it listens. */
export async function startToMint(
  api: StartApi,
  start: Start,
): Promise<Sample & { readonly password: string }> {
  const path = `/apis/${GROUP}/v1alpha1/namespaces/${api.namespace}/credentials/${api.credential}/mint`
  const { sample, value } = await measureProcess(functionOf(api, start), LISTENING, (port) =>
    call(api, start, { port: start.through ?? port, method: 'POST', path }),
  )
  return { ...sample, password: JSON.parse(value).status.password }
}

/** A server of Node's that answers nothing, until it has done so once. */
export async function startEmpty(
  api: StartApi,
  { port = 0, through }: Pick<Start, 'port' | 'through'>,
): Promise<Sample> {
  const script = `const server = require('node:http').createServer((_, answer) => answer.end('{}'))
    .listen(${port}, '127.0.0.1', () => console.log('{"event":"listening","port":' + server.address().port + '}'))`
  const { sample } = await measureProcess({ args: ['-e', script] }, LISTENING, (listens) =>
    call(api, {}, { port: through ?? listens, method: 'POST', path: '/' }),
  )
  return sample
}

function functionOf(api: StartApi, { args, env, secure = false, port = 0 }: Start): Program {
  const { url, caFile, tokenFile } = secure ? api.secure : api.plain
  const tls = {
    MINTONCE_TLS_CERT_FILE: api.serving.certFile,
    MINTONCE_TLS_KEY_FILE: api.serving.keyFile,
  }
  return {
    args,
    env: {
      NODE_ENV: 'production',
      ...env,
      PORT: String(port),
      MINTONCE_LISTEN_ADDRESS: '127.0.0.1',
      MINTONCE_DRAIN_SECONDS: '0',
      MINTONCE_KUBE_URL: url,
      MINTONCE_KUBE_CA_FILE: caFile,
      MINTONCE_KUBE_TOKEN_FILE: tokenFile,
      ...(secure === true ? tls : {}),
    },
  }
}

interface Call {
  readonly port: string
  readonly method: string
  readonly path: string
}

/** On a connection of its own. Answers the body; throws when the status says that it failed. */
export function call(
  { ca, callerToken }: StartApi,
  { secure = false }: Pick<Start, 'secure'>,
  { port, ...options }: Call,
) {
  const headers = { authorization: `Bearer ${callerToken}` }
  const send = secure === true ? httpsRequest : httpRequest
  return new Promise<string>((resolve, reject) => {
    send({ host: '127.0.0.1', port, ...options, headers, agent: false, ca }, async (answer) => {
      const body = await text(answer)
      if ((answer.statusCode ?? 500) < 300) resolve(body)
      else reject(new Error(`${options.method} ${options.path}: ${answer.statusCode} ${body}`))
    })
      .once('error', reject)
      .end()
  })
}
