import { join } from 'node:path'
import { bareScram, mintBare } from '../bare-calls.ts'
import { createBareClient } from '../bare-client.ts'
import { interleaved, median, timed } from '../figures.ts'
import { startAsImage } from '../image-flags.ts'
import { watchMinted } from '../minted-events.ts'
import { startBareServer } from './bare-server.ts'
import { administrator, callerIn, createCaller, type MintCaller, people } from './caller.ts'
import { type Context, SETTINGS } from './context.ts'
import { compared, type Finding, figure, type Row, rounded, stoppedAt } from './row.ts'

/** After each sample. An Event is waited for besides: see `watchMinted`. */
export const PAUSE_MS = 12
const ROUNDS = 300
/** Of the raw calls, and of `TokenRequest`. */
const AT_MOST = 1.15
const AT_MOST_TOKENS = 2.5

/** A mint by either kind of token, beside its calls made raw, and beside what Kubernetes mints itself. */
export const mint: Row = {
  name: 'mint',
  run: async (context) => {
    const { tenant, tasks, events } = await prepare(context)
    const rounds = context.rounds(ROUNDS)
    const warmUp = context.rounds(60)
    const timedTasks = timedAll(tasks)
    const { ours, oursSha1, oursListing, oursJwt } = timedTasks
    const samples = await interleaved(
      {
        ...timedTasks,
        ours: () => events.after(ours),
        oursSha1: () => events.after(oursSha1),
        oursListing: () => events.after(oursListing),
        oursJwt: () => events.after(oursJwt),
      },
      { rounds, warmUp, pauseMs: PAUSE_MS },
    )
    await checkStored(tenant)
    return findings(samples)
  },
}

type Name = keyof Awaited<ReturnType<typeof prepare>>['tasks']
type Samples = Readonly<Record<Name, readonly number[]>>

async function prepare(context: Context) {
  const of = await context.function()
  const bare = await context.bare()
  const { plane } = await context.api()
  const byServiceAccount = await createCaller(of)
  const { tenant, rawOf } = byServiceAccount
  const { namespace, tokens } = tenant
  await plane.apply([administrator(namespace), people(namespace)])
  await tenant.release('Postgres', 'orders', { users: { web: {}, raw: {}, jwt: {}, listed: {} } })
  await tenant.release('MariaDB', 'shop', { users: { app: {} } })
  const jwt = await of.issuer.sign({ sub: 'jane', groups: ['dba'], exp: inAnHour() })
  const byJwt = callerIn(of, tenant, jwt)
  const credentials = [
    'postgres-orders.web',
    'postgres-orders.raw',
    'postgres-orders.jwt',
    'postgres-orders.listed',
    'mariadb-shop.app',
  ]
  for (const credential of credentials) await byServiceAccount.fill(credential)

  // Every mint of it is the one in 30 seconds that waits for the definitions to be listed.
  const listsAlways = { ...SETTINGS, MINTONCE_DEFINITIONS_MAX_AGE_SECONDS: '0' }
  const lister = await startAsImage(await context.api(), listsAlways, join(context.dist, 'node.js'))
  context.atEnd(lister.stop)
  const listing = callerIn({ ...of, entry: lister }, tenant, tokens.admin)

  const raw = rawOf('postgres-orders.raw')
  const caller = { token: tokens.admin }
  const known = { username: 'oidc:jane', groups: ['oidc:dba', 'system:authenticated'] }
  const bareServer = await startBareServer(
    await context.api(),
    [
      { ...raw, caller, isHashed: true, hasEvent: false },
      { ...raw, caller, isHashed: false, hasEvent: false },
      { ...raw, caller: known, signedBy: of.issuer.key, isHashed: true, hasEvent: false },
    ],
    { token: jwt },
  )
  context.atEnd(bareServer.stop)
  const adminToken = await plane.tokenOf(namespace, 'admin')
  const admin = createBareClient({ url: plane.url, ca: plane.ca, token: adminToken })
  const tokenPath = `/api/v1/namespaces/${namespace}/serviceaccounts/viewer/token`
  const tokenRequest = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const tasks = {
    raw: () => mintBare(bare, { ...raw, caller }),
    rawHashed: () => mintBare(bare, { ...raw, caller, hash: bareScram }),
    rawListing: () => mintBare(bare, { ...raw, caller, hash: bareScram, listsDefinitions: true }),
    rawJwt: () => mintBare(bare, { ...raw, caller: known }),
    server: () => bareServer.mint(0),
    serverUnhashed: () => bareServer.mint(1),
    serverJwt: () => bareServer.mint(2),
    ours: () => byServiceAccount.mint('postgres-orders.web'),
    oursSha1: () => byServiceAccount.mint('mariadb-shop.app'),
    oursListing: () => listing.mint('postgres-orders.listed'),
    oursJwt: () => byJwt.mint('postgres-orders.jwt'),
    tokenRequest: () => admin('POST', tokenPath, tokenRequest),
    hop: () => byServiceAccount.get('GET', '/version'),
    hash: () => bareScram('Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU'),
  }
  const events = await watchMinted({ url: plane.url, ca: plane.ca, token: adminToken, namespace })
  context.atEnd(events.stop)
  return { tenant: byServiceAccount, tasks, events }
}

const timedAll = <T extends string>(tasks: Readonly<Record<T, () => Promise<unknown>>>) =>
  Object.fromEntries(
    Object.entries<() => Promise<unknown>>(tasks).map(([name, task]) => [name, () => timed(task)]),
  ) as Record<T, () => Promise<number>>

const inAnHour = () => Math.floor(Date.now() / 1000) + 3600

/** Figures of mints that never happened would be good ones. */
async function checkStored({ tenant, mint: mintOne }: MintCaller): Promise<void> {
  const before = await tenant.secret('postgres-orders.web')
  const password = await mintOne('postgres-orders.web')
  const after = await tenant.secret('postgres-orders.web')
  if (!/^\w{32}$/.test(password) || before.data.password === after.data.password)
    throw new Error('a mint stored nothing')
}

function findings({
  raw,
  rawHashed,
  rawJwt,
  ours,
  oursSha1,
  oursJwt,
  rawListing,
  oursListing,
  server,
  serverUnhashed,
  serverJwt,
  ...others
}: Samples): readonly Finding[] {
  const { tokenRequest, hop, hash } = others
  const floor = 'its calls, raw: review; access review and two reads; write'
  const withoutReview = 'the same without the TokenReview'
  /** Nothing is hashed for somebody who may not mint, so the hash waits for the calls before the write. */
  const least = (bare: readonly number[], beside: readonly number[], does: string, atMost = AT_MOST) =>
    stoppedAt(
      median(bare) / median(beside),
      { atMost },
      `a bare server that makes the calls and ${does}, ${rounded(median(bare))} ms`,
    )
  return [
    compared({
      what: 'mint by ServiceAccount token, p50',
      floor,
      ours,
      beside: raw,
      atMost: AT_MOST,
      stoppedBy: least(server, raw, 'the hash'),
    }),
    compared({ what: 'mint by ServiceAccount token, p99', floor, ours, beside: raw, share: 0.99 }),
    compared({
      what: 'the same, beside the calls with the hash',
      floor: 'calls and SCRAM-SHA-256, raw',
      ours,
      beside: rawHashed,
    }),
    compared({
      what: 'the same, beside a bare server',
      floor: 'a server of `node:http` that makes the calls and the hash, and checks nothing',
      ours,
      beside: server,
    }),
    compared({
      what: 'mint by ServiceAccount token, `mysql-native`, p50',
      floor,
      ours: oursSha1,
      beside: raw,
      atMost: AT_MOST,
      stoppedBy: least(serverUnhashed, raw, 'nothing else'),
    }),
    compared({
      what: 'the same, beside a bare server',
      floor: 'that server without the hash',
      ours: oursSha1,
      beside: serverUnhashed,
    }),
    compared({
      what: 'mint by JWT, p50',
      floor: withoutReview,
      ours: oursJwt,
      beside: rawJwt,
      atMost: AT_MOST,
      stoppedBy: least(serverJwt, rawJwt, 'the hash, and checks the signature'),
    }),
    compared({
      what: 'the same, beside a bare server',
      floor: 'that server',
      ours: oursJwt,
      beside: serverJwt,
    }),
    compared({ what: 'mint by JWT, p99', floor: withoutReview, ours: oursJwt, beside: rawJwt, share: 0.99 }),
    compared({
      what: 'mint by ServiceAccount token',
      floor: '`TokenRequest`',
      ours,
      beside: tokenRequest,
      atMost: AT_MOST_TOKENS,
      stoppedBy: least(server, tokenRequest, 'the hash', AT_MOST_TOKENS),
    }),
    compared({
      what: 'mint by JWT',
      floor: '`TokenRequest`',
      ours: oursJwt,
      beside: tokenRequest,
      atMost: AT_MOST_TOKENS,
      stoppedBy: least(serverJwt, tokenRequest, 'the hash, and checks the signature', AT_MOST_TOKENS),
    }),
    compared({
      what: 'the mint that lists the definitions, one in 30 seconds',
      floor: 'calls, that list and SCRAM-SHA-256, raw',
      ours: oursListing,
      beside: rawListing,
    }),
    compared({ what: 'the same', floor: 'a mint that does not', ours: oursListing, beside: ours }),
    { what: 'the hop: `GET /version` of the function', ours: figure(hop, 'ms'), rounds: hop.length },
    { what: 'SCRAM-SHA-256 by `node:crypto`', ours: figure(hash, 'ms'), rounds: hash.length },
  ]
}
