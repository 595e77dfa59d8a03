import { expect, test } from 'vitest'
import { ok } from '../../src/core/result.ts'
import { isDnsLabel, isDnsSubdomain } from '../../src/k8s/names.ts'
import { fuzzedHint, type HintRequest } from '../helpers/fuzz-hints.ts'
import { seeded } from '../helpers/fuzz-http.ts'
import { EVENTS_KEY, FLUX_KEY, scriptedApp } from '../helpers/scripted-app.ts'

const INPUTS = 3000
const SECRET = 'Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU'

const NOTHING = { items: [], resourceVersion: '1' }
/** Nothing is there: whatever is made of these requests, nothing is to be written. */
const app = scriptedApp(
  {
    listSecrets: async () => ok(NOTHING),
    listTenantProjections: async () => ok(NOTHING),
    listHelmReleases: async () => ok(NOTHING),
    getHelmRelease: async () => ok(undefined),
    getTenantProjection: async () => ok(undefined),
    getSecret: async () => ok(undefined),
  },
  { anchors: { labels: true, names: new Map([['Postgres', { source: '{release}-ca', key: 'ca.crt' }]]) } },
)

/** What is wrong with an answer; undefined when nothing is. */
async function wrongWith(answer: Response): Promise<string | undefined> {
  const text = await answer.text()
  if (answer.status >= 500) return `${answer.status} ${text}`
  for (const secret of [SECRET, EVENTS_KEY, FLUX_KEY]) if (text.includes(secret)) return 'shows a secret'
  if (answer.status === 204 || answer.status === 202) return text === '' ? undefined : `a body: ${text}`
  if (answer.status < 400) return `a broker would take this for an event: ${answer.status}`
  return text.startsWith('{"kind":"Status",') ? undefined : `no Status: ${text}`
}

test(`of ${INPUTS} CloudEvents and Flux events at random none is a 500, writes, leads elsewhere or has a secret shown`, async () => {
  const seed = Number(process.env.MINTONCE_FUZZ_SEED ?? Date.now() % 2 ** 32)
  const random = seeded(seed)
  const parts = { eventsKey: EVENTS_KEY, fluxKey: FLUX_KEY, secret: SECRET }
  const codes = new Map<number, number>()
  const wrong: string[] = []
  for (let i = 0; i < INPUTS; i += 1) {
    const { path, headers, body }: HintRequest = fuzzedHint(random, parts)
    const answer = await app.call(path, { method: 'POST', headers, body })
    codes.set(answer.status, (codes.get(answer.status) ?? 0) + 1)
    const problem = await wrongWith(answer)
    if (problem !== undefined) wrong.push(`${JSON.stringify({ path, headers, body })}: ${problem}`)
  }
  const at = `MINTONCE_FUZZ_SEED=${seed}`
  expect(wrong, at).toEqual([])
  expect(app.writes(), at).toBe(0)
  const looked = (['getHelmRelease', 'getTenantProjection', 'getSecret'] as const).map(app.argumentsOf)
  expect(
    looked.flat().filter(([namespace, name]) => !isDnsLabel(namespace) || !isDnsSubdomain(name)),
    at,
  ).toEqual([])
  const logged = JSON.stringify(app.logged)
  for (const secret of [SECRET, EVENTS_KEY, FLUX_KEY]) expect(logged, at).not.toContain(secret)
  expect(
    app.logged.filter(({ event }) => event === 'crashed'),
    at,
  ).toEqual([])
  // A generator that only ever produced noise, or only valid events, would prove little.
  for (const common of [204, 400, 401])
    expect(codes.get(common) ?? 0, `${common}, ${at}`).toBeGreaterThan(100)
  for (const calls of looked) expect(calls.length, at).toBeGreaterThan(20)
})
