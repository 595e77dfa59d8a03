import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createHttpsClient } from '../../src/k8s/node-https.ts'
import { type ApiProxy, startApiProxy } from '../../test/helpers/api-proxy.ts'
import { callerIn, createCaller, people } from './caller.ts'
import { startFunction } from './context.ts'
import { counted, type Finding, type Row } from './row.ts'

const CREDENTIAL = 'postgres-orders.web'
const TOKEN_REVIEW = /^POST .*\/tokenreviews$/
const SIDE_BY_SIDE = [/^POST .*\/subjectaccessreviews$/, /^GET .*\/secrets\//, /^GET .*\/helmreleases\//]
const WRITE = /^PUT .*\/secrets\//
const EVENT = /^POST .*\/events$/
const WAIT_MS = 20_000

/**
 * How many calls of a mint wait for another one. Every answer of a wave is held back until all of the wave has been sent,
 * so that none of it can have waited for another: a mint that needed more would never end.
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
      const reviewed = [[TOKEN_REVIEW], SIDE_BY_SIDE, [WRITE]]
      return [
        ...(await findingsOf('ServiceAccount token', between, reviewed, () => caller.mint(CREDENTIAL))),
        ...(await findingsOf('JWT', between, [SIDE_BY_SIDE, [WRITE]], () => byJwt.mint(CREDENTIAL))),
      ]
    } finally {
      await of.entry.stop()
      of.issuer.stop()
      await between.stop()
    }
  },
}

const eventsIn = (calls: readonly string[]) => calls.filter((call) => EVENT.test(call)).length

async function findingsOf(
  by: string,
  between: ApiProxy,
  waves: readonly (readonly RegExp[])[],
  mint: () => Promise<unknown>,
): Promise<readonly Finding[]> {
  const before = between.calls().length
  const came = () => between.calls().slice(before)
  let letGo = between.hold(() => true)
  const minted = mint()
  let sent = 0
  try {
    for (const wave of waves) {
      sent += wave.length
      await until(() => came().length >= sent, between)
      const holdNext = between.hold(() => true)
      letGo()
      letGo = holdNext
    }
    await minted
    await until(() => came().length > sent, between)
  } finally {
    letGo()
  }
  const calls = came()
  const expected = [...waves.flat(), EVENT]
  const strange = calls.filter((call) => !expected.some((pattern) => pattern.test(call)))
  if (strange.length > 0) throw new Error(`a mint also calls ${strange.join(', ')}`)
  const writes = calls.filter((call) => WRITE.test(call)).length
  return [
    counted({
      what: `round trips one after another, mint by ${by}`,
      count: waves.length,
      expected: by === 'JWT' ? 2 : 3,
      unit: 'round trips',
    }),
    counted({
      what: `calls before its answer, by ${by}`,
      count: calls.length - 1,
      expected: sent,
      unit: 'calls',
    }),
    counted({ what: `writes of a Secret, by ${by}`, count: writes, expected: 1, unit: 'writes' }),
    counted({
      what: `Events after its answer, by ${by}`,
      count: eventsIn(calls),
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
