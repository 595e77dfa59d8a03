import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createHttpsClient } from '../../src/k8s/node-https.ts'
import { type ApiProxy, startApiProxy } from '../../test/helpers/api-proxy.ts'
import { callerIn, createCaller, people } from './caller.ts'
import { startFunction } from './context.ts'
import { counted, type Finding, type Row } from './row.ts'

const CREDENTIAL = 'postgres-orders.web'
const TOKEN_REVIEW = /^POST .*\/tokenreviews$/
const WRITE = /^PUT .*\/secrets\//
const EVENT = /^POST .*\/events$/
const KNOWN = [
  TOKEN_REVIEW,
  /^POST .*\/subjectaccessreviews$/,
  /^GET .*\/secrets\//,
  /^GET .*\/helmreleases\//,
  WRITE,
]
const WAIT_MS = 20_000
/** For what comes beside what has come. */
const BESIDE_MS = 100

/**
 * How many calls of a mint wait for another one. Every answer is held back until nothing more comes: what comes then has waited
 * for an answer, and is one round trip more.
 */
export const roundTrips: Row = {
  name: 'round-trips',
  run: async (context) => {
    const api = await context.api()
    const { tokenFile } = await api.forProcess()
    const between = await startApiProxy(createHttpsClient(api.plane.url, { ca: api.plane.ca }).fetch)
    const behind = { ...api, forProcess: async () => ({ url: between.url, tokenFile }) }
    const of = await startFunction(behind, join(context.dist, 'node.js'))
    try {
      const caller = await createCaller(of)
      const { tenant } = caller
      await tenant.release('Postgres', 'orders', { users: { web: {} } })
      const token = await of.issuer.sign({ sub: `${tenant.namespace}-jane`, groups: ['dba'] })
      await api.plane.apply([people(tenant.namespace)])
      const byJwt = callerIn(of, tenant, token)
      // Definitions and the issuer's keys are known from here on, as they are to every mint but the first.
      await caller.mint(CREDENTIAL)
      await byJwt.mint(CREDENTIAL)
      await until(() => eventsIn(between.calls()) === 2, between)
      return [
        ...findingsOf('ServiceAccount token', await wavesOf(between, () => caller.mint(CREDENTIAL)), [3, 5]),
        ...findingsOf('JWT', await wavesOf(between, () => byJwt.mint(CREDENTIAL)), [2, 4]),
      ]
    } finally {
      await of.entry.stop()
      of.issuer.stop()
      await between.stop()
    }
  },
}

const eventsIn = (calls: readonly string[]) => calls.filter((call) => EVENT.test(call)).length

interface Waves {
  /** The calls of each round trip, as they came. */
  readonly before: readonly (readonly string[])[]
  /** What came when the answer was there. */
  readonly after: readonly string[]
}

async function wavesOf(between: ApiProxy, mint: () => Promise<unknown>): Promise<Waves> {
  const start = between.calls().length
  const came = () => between.calls().slice(start)
  const before: (readonly string[])[] = []
  let seen = 0
  let isAnswered = false
  let letGo = between.hold(() => true)
  const minted = mint().then(() => {
    isAnswered = true
  })
  try {
    for (;;) {
      await until(() => isAnswered || came().length > seen, between)
      await sleep(BESIDE_MS)
      // Held back as well: the answer does not wait for what is left now.
      if (isAnswered) break
      before.push(came().slice(seen))
      seen = came().length
      const holdNext = between.hold(() => true)
      letGo()
      letGo = holdNext
    }
    await minted
    await until(() => came().length > seen, between)
    await sleep(BESIDE_MS)
    return { before, after: came().slice(seen) }
  } finally {
    letGo()
  }
}

function findingsOf(
  by: string,
  { before, after }: Waves,
  [roundTrips, calls]: readonly [number, number],
): readonly Finding[] {
  const all = before.flat()
  const strange = [
    ...all.filter((call) => !KNOWN.some((known) => known.test(call))),
    ...after.filter((call) => !EVENT.test(call)),
  ]
  if (strange.length > 0) throw new Error(`a mint also calls ${strange.join(', ')}`)
  const writes = all.filter((call) => WRITE.test(call)).length
  return [
    counted({
      what: `round trips one after another, mint by ${by}`,
      count: before.length,
      expected: roundTrips,
      unit: 'round trips',
    }),
    counted({ what: `calls before its answer, by ${by}`, count: all.length, expected: calls, unit: 'calls' }),
    counted({ what: `writes of a Secret, by ${by}`, count: writes, expected: 1, unit: 'writes' }),
    counted({
      what: `Events that its answer does not wait for, by ${by}`,
      count: after.length,
      expected: 1,
      unit: 'Events',
    }),
  ]
}

async function until(isSo: () => boolean, { calls }: ApiProxy): Promise<void> {
  const deadline = performance.now() + WAIT_MS
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error(`waited in vain: ${calls().slice(-8).join(', ')}`)
    await sleep(2)
  }
}
