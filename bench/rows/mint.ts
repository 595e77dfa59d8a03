import { bareScram, mintBare } from '../bare-calls.ts'
import { createBareClient } from '../bare-client.ts'
import { interleaved, median, timed } from '../figures.ts'
import { administrator, callerIn, createCaller, type MintCaller, people } from './caller.ts'
import type { Context } from './context.ts'
import { compared, type Finding, figure, type Row, rounded } from './row.ts'

/** Longer than the Event after a mint takes. */
export const PAUSE_MS = 12
const ROUNDS = 400

/** A mint by either kind of token, beside its calls made raw, and beside what Kubernetes mints itself. */
export const mint: Row = {
  name: 'mint',
  run: async (context) => {
    const { tenant, tasks } = await prepare(context)
    const rounds = context.rounds(ROUNDS)
    const warmUp = context.rounds(60)
    const samples = await interleaved(timedAll(tasks), { rounds, warmUp, pauseMs: PAUSE_MS })
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
  await tenant.release('Postgres', 'orders', { users: { web: {}, raw: {}, jwt: {} } })
  await tenant.release('MariaDB', 'shop', { users: { app: {} } })
  const byJwt = callerIn(of, tenant, await of.issuer.sign({ sub: 'jane', groups: ['dba'], exp: inAnHour() }))
  const credentials = [
    'postgres-orders.web',
    'postgres-orders.raw',
    'postgres-orders.jwt',
    'mariadb-shop.app',
  ]
  for (const credential of credentials) await byServiceAccount.fill(credential)

  const raw = rawOf('postgres-orders.raw')
  const caller = { token: tokens.admin }
  const known = { username: 'oidc:jane', groups: ['oidc:dba', 'system:authenticated'] }
  const admin = createBareClient({
    url: plane.url,
    ca: plane.ca,
    token: await plane.tokenOf(namespace, 'admin'),
  })
  const tokenPath = `/api/v1/namespaces/${namespace}/serviceaccounts/viewer/token`
  const tokenRequest = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const tasks = {
    raw: () => mintBare(bare, { ...raw, caller }),
    rawHashed: () => mintBare(bare, { ...raw, caller, hash: bareScram }),
    rawJwt: () => mintBare(bare, { ...raw, caller: known }),
    ours: () => byServiceAccount.mint('postgres-orders.web'),
    oursSha1: () => byServiceAccount.mint('mariadb-shop.app'),
    oursJwt: () => byJwt.mint('postgres-orders.jwt'),
    tokenRequest: () => admin('POST', tokenPath, tokenRequest),
    hop: () => byServiceAccount.get('GET', '/version'),
    hash: () => bareScram('Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU'),
  }
  return { tenant: byServiceAccount, tasks }
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
  ...others
}: Samples): readonly Finding[] {
  const { tokenRequest, hop, hash } = others
  const floor = 'its calls, raw: review; access review and two reads; write'
  const withoutReview = 'the same without the TokenReview'
  const least = (calls: readonly number[], hashes: number) => {
    const all = median(calls) + median(hop) + hashes
    return `the hop to a process, ${rounded(median(hop))} ms, and the hash, ${rounded(hashes)} ms: ${(all / median(calls)).toFixed(2)}× with nothing else`
  }
  const scram = median(hash)
  return [
    compared({
      what: 'mint by ServiceAccount token, p50',
      floor,
      ours,
      beside: raw,
      atMost: 1.15,
      stoppedBy: least(raw, scram),
    }),
    compared({ what: 'mint by ServiceAccount token, p99', floor, ours, beside: raw, share: 0.99 }),
    compared({
      what: 'the same, beside the calls with the hash',
      floor: 'calls and SCRAM-SHA-256, raw',
      ours,
      beside: rawHashed,
    }),
    compared({
      what: 'mint by ServiceAccount token, `mysql-native`, p50',
      floor,
      ours: oursSha1,
      beside: raw,
      atMost: 1.15,
      stoppedBy: least(raw, 0),
    }),
    compared({
      what: 'mint by JWT, p50',
      floor: withoutReview,
      ours: oursJwt,
      beside: rawJwt,
      atMost: 1.15,
      stoppedBy: least(rawJwt, scram),
    }),
    compared({ what: 'mint by JWT, p99', floor: withoutReview, ours: oursJwt, beside: rawJwt, share: 0.99 }),
    compared({
      what: 'mint by ServiceAccount token',
      floor: '`TokenRequest`',
      ours,
      beside: tokenRequest,
      atMost: 2.5,
    }),
    compared({
      what: 'mint by JWT',
      floor: '`TokenRequest`',
      ours: oursJwt,
      beside: tokenRequest,
      atMost: 2.5,
    }),
    { what: 'the hop: `GET /version` of the function', ours: figure(hop, 'ms'), rounds: hop.length },
    { what: 'SCRAM-SHA-256 by `node:crypto`', ours: figure(hash, 'ms'), rounds: hash.length },
  ]
}
