/**
 * A mint with nothing around it: `node:http` or `node:https`, the calls that a first mint makes and its hash, no server,
 * no checks, no errors told apart. Prints the password; with SERVE it listens, and answers it to whoever asks. What any mint in a process of its own costs at least, run as
 * CommonJS: an `import` of `node:http` reads what it exports, WebSocket among it, and so loads Node's whole Fetch API.
 */
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { bareScram, mintBare } from './bare-calls.ts'
import { createBareClient } from './bare-client.ts'

const { URL: url = '', CA_FILE = '', TOKEN_FILE = '', CALLER_TOKEN: token = '' } = process.env
const { NAMESPACE: namespace = '', CREDENTIAL: credential = '' } = process.env
const [release = ''] = credential.split('.')

const send = createBareClient({
  url,
  token: readFileSync(TOKEN_FILE, 'utf8'),
  ...(url.startsWith('https:') ? { ca: readFileSync(CA_FILE, 'utf8') } : {}),
})

const mint = () =>
  mintBare(send, {
    namespace,
    release,
    credential,
    group: 'core.cozystack.io',
    caller: { token },
    listsDefinitions: true,
    hash: bareScram,
  })

function serve(): void {
  const { CERT_FILE: cert, KEY_FILE: key } = process.env
  const server =
    cert === undefined || key === undefined
      ? createHttpServer()
      : createHttpsServer({ cert: readFileSync(cert), key: readFileSync(key) })
  server.on('request', async (_, answer) => {
    answer.end(JSON.stringify({ status: { password: await mint() } }))
  })
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo
    process.stdout.write(`${JSON.stringify({ event: 'listening', port })}\n`)
  })
}

/** Whoever measures it ends it: it goes on as a server would. */
async function mintOnce(): Promise<void> {
  process.stdout.write(`password ${await mint()}\n`)
  setTimeout(() => undefined, 60_000)
}

if (process.env.SERVE === undefined) void mintOnce()
else serve()
