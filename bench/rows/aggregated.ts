import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { GROUP } from '../../test/cluster/aggregated.ts'
import { registerApiService, SERVICE_HOST } from '../../test/cluster/api-service.ts'
import { FUNCTION } from '../../test/contract/backends/api-server.ts'
import { backendOf } from '../../test/contract/backends/node-process.ts'
import { createTenant } from '../../test/contract/tenant.ts'
import { mintBare } from '../bare-calls.ts'
import { createBareClient } from '../bare-client.ts'
import { interleaved, median, timed } from '../figures.ts'
import { startAsImage } from '../image-flags.ts'
import { watchMinted } from '../minted-events.ts'
import { startBareServer } from './bare-server.ts'
import { administrator } from './caller.ts'
import { type Context, SETTINGS } from './context.ts'
import { PAUSE_MS } from './mint.ts'
import { compared, figure, type Row, stoppedAt } from './row.ts'

const ROUNDS = 300
const GOAL = { atMost: 1.15 }
const EMPTY_GROUP = 'empty.bench.example'
const EMPTY = { namespace: FUNCTION.namespace, name: 'empty' }
const BARE_GROUP = 'bare.bench.example'
const BARE = { namespace: FUNCTION.namespace, name: 'bare' }
const CREDENTIAL = 'postgres-orders.web'

/** A mint that kube-apiserver forwards, beside the calls and a request that it forwards to somebody who does nothing. */
export const aggregated: Row = {
  name: 'aggregated',
  run: async (context) => {
    const { forwarded, empty, bare, raw, direct, events } = await prepare(context)
    for (let times = 0; times < 10; times += 1) await forwarded()
    const samples = await interleaved(
      {
        forwarded: () => events.after(() => timed(forwarded)),
        floor: async () => (await timed(raw)) + (await timed(empty)),
        bare: () => timed(bare),
        empty: () => timed(empty),
        direct: () => timed(direct),
      },
      { rounds: context.rounds(ROUNDS), warmUp: context.rounds(60), pauseMs: PAUSE_MS },
    )
    return [
      compared({
        what: 'mint through the aggregation layer, p50',
        floor: 'its calls, raw, and a request forwarded to an empty handler',
        ours: samples.forwarded,
        beside: samples.floor,
        ...GOAL,
        stoppedBy: stoppedAt(
          median(samples.bare) / median(samples.floor),
          GOAL,
          'a bare aggregated server that makes the calls and the hash',
        ),
      }),
      compared({
        what: 'mint through the aggregation layer, p99',
        floor: 'the same',
        ours: samples.forwarded,
        beside: samples.floor,
        share: 0.99,
      }),
      compared({
        what: 'the same, beside a bare server',
        floor: 'forwarded to a server that makes the calls and the hash, and checks nothing',
        ours: samples.forwarded,
        beside: samples.bare,
      }),
      { what: 'a request forwarded to an empty handler', ours: figure(samples.empty, 'ms') },
      { what: 'the same to the handler itself', ours: figure(samples.direct, 'ms') },
    ]
  },
}

async function prepare(context: Context) {
  const api = await context.api()
  const { plane } = api
  const { certFile, keyFile } = await plane.serverCertificateFor([
    SERVICE_HOST,
    `${EMPTY.name}.${EMPTY.namespace}.svc`,
    `${BARE.name}.${BARE.namespace}.svc`,
    '127.0.0.1',
    'localhost',
  ])
  const entry = await startAsImage(
    api,
    {
      ...SETTINGS,
      MINTONCE_API_GROUP: GROUP,
      MINTONCE_TLS_CERT_FILE: certFile,
      MINTONCE_TLS_KEY_FILE: keyFile,
      MINTONCE_FRONT_PROXY: 'on',
    },
    join(context.dist, 'node.js'),
  )
  context.atEnd(entry.stop)
  const nothing = await startNothing(certFile, keyFile)
  context.atEnd(nothing.stop)
  await registerApiService(plane, entry.port, GROUP)
  await registerApiService(plane, nothing.port, EMPTY_GROUP, EMPTY)

  const { namespace, release } = await createTenant(backendOf(api, entry))
  await plane.apply([administrator(namespace)])
  await release('Postgres', 'orders', { users: { web: {} } })
  const raw = {
    namespace,
    release: 'postgres-orders',
    credential: CREDENTIAL,
    group: GROUP,
    caller: { username: `system:serviceaccount:${namespace}:admin`, groups: groupsIn(namespace) },
  }
  const pathIn = (group: string) =>
    `/apis/${group}/v1alpha1/namespaces/${namespace}/credentials/${CREDENTIAL}/mint`
  const served = { ...raw, path: pathIn(BARE_GROUP), isHashed: true, hasEvent: false }
  const bareServer = await startBareServer(api, [served], { serving: { certFile, keyFile } })
  context.atEnd(bareServer.stop)
  await registerApiService(plane, bareServer.port, BARE_GROUP, BARE)
  const bare = await context.bare()
  const token = await plane.tokenOf(namespace, 'admin')
  const caller = createBareClient({ url: plane.url, ca: plane.ca, token })
  const directly = createBareClient({ url: `https://127.0.0.1:${nothing.port}`, ca: plane.ca, token })
  const events = await watchMinted({ url: plane.url, ca: plane.ca, token, namespace })
  context.atEnd(events.stop)
  return {
    events,
    forwarded: () => caller('POST', pathIn(GROUP)),
    empty: () => caller('POST', pathIn(EMPTY_GROUP)),
    direct: () => directly('POST', pathIn(EMPTY_GROUP)),
    bare: () => caller('POST', pathIn(BARE_GROUP)),
    raw: () => mintBare(bare, raw),
  }
}

const groupsIn = (namespace: string) => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
  'system:authenticated',
]

/** An aggregated API server that has read a request, and answers as little as it can. */
async function startNothing(certFile: string, keyFile: string) {
  const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)])
  const server = createServer({ cert, key }, async (asked, outgoing) => {
    await text(asked)
    outgoing.setHeader('content-type', 'application/json')
    outgoing.end('{}')
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
