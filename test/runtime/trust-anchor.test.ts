import { join } from 'node:path'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { afterAll, expect, test } from 'vitest'
import { BUNDLE, RUNTIME } from '../../dev/bundle-worker.ts'
import { type Published, publishable } from '../../src/trust-anchor/certificates.ts'
import { seeded } from '../helpers/fuzz-http.ts'
import { changedCertificate, fuzzedValue, ingredientsOf } from '../trust-anchor/fuzz-pem.ts'
import { expectJudged } from '../trust-anchor/judge.ts'
import { makeCertificates } from '../trust-anchor/made.ts'
import { certificateOf, valuesOf } from '../trust-anchor/values.ts'

const INPUTS = 1500

/** A worker that answers what would be published of each value, or that it threw; to a GET, which globals of Node it has. */
const SOURCE = `
import { publishable } from './certificates.ts'
export default {
  async fetch(request) {
    if (request.method === 'GET')
      return Response.json(['process', 'Buffer', 'global', 'setImmediate'].filter((name) => name in globalThis))
    const values = (await request.json()).map((value) => Uint8Array.from(atob(value), (each) => each.charCodeAt(0)))
    return Response.json(await Promise.all(values.map((value) => publishable(value).catch(() => 'thrown'))))
  },
}`

interface Worker {
  readonly judge: (values: readonly Uint8Array[]) => Promise<readonly (Published | 'thrown')[]>
  readonly globals: () => Promise<unknown>
}

async function start(flags: readonly string[]): Promise<Worker> {
  const { outputFiles } = await build({
    stdin: { contents: SOURCE, resolveDir: join(import.meta.dirname, '../../src/trust-anchor') },
    bundle: true,
    write: false,
    format: 'esm',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['node:crypto'],
  })
  const worker = new Miniflare({
    // Named one by one, they are not searched for imports that the runtime does not have.
    modules: [{ type: 'ESModule', path: BUNDLE, contents: outputFiles[0]?.text ?? '' }],
    compatibilityDate: RUNTIME.compatibilityDate,
    compatibilityFlags: [...flags],
    cf: false,
  })
  afterAll(() => worker.dispose())
  const { origin } = await worker.ready
  return {
    judge: async (values) => {
      const body = JSON.stringify(values.map((value) => Buffer.from(value).toString('base64')))
      return (await (await fetch(origin, { method: 'POST', body })).json()) as readonly (
        | Published
        | 'thrown'
      )[]
    },
    globals: async () => (await fetch(origin)).json(),
  }
}

const made = await makeCertificates()
afterAll(made.remove)
const inWorkerd = await start(RUNTIME.compatibilityFlags)

const values = valuesOf(made)
test(`of ${values.length} values the same is published in workerd as on Node, which is what OpenSSL wrote`, async () => {
  const answers = await inWorkerd.judge(values.map(({ value }) => value))
  for (const [at, value] of values.entries()) {
    const answer = answers[at]
    if (answer === undefined || answer === 'thrown') throw new Error(`${value.name}: ${answer}`)
    expectJudged(made, value, answer)
    expect(answer, value.name).toEqual(await publishable(value.value))
  }
})

test(`of ${INPUTS} values at random the same is published in workerd as on Node`, async () => {
  const seed = Number(process.env.MINTONCE_FUZZ_SEED ?? Date.now() % 2 ** 32)
  const random = seeded(seed)
  const ingredients = ingredientsOf(made)
  const inputs = Array.from({ length: INPUTS }, (_, at) =>
    at % 2 === 0 ? fuzzedValue(random, ingredients) : changedCertificate(random, ingredients),
  )
  const answers = await inWorkerd.judge(inputs.map((value) => Buffer.from(value, 'latin1')))
  const wrong: string[] = []
  for (const [at, value] of inputs.entries()) {
    const [there, here] = [answers[at], await publishable(Buffer.from(value, 'latin1'))]
    if (JSON.stringify(there) !== JSON.stringify(here))
      wrong.push(`MINTONCE_FUZZ_SEED=${seed}: ${JSON.stringify({ value, there, here })}`)
  }
  expect(wrong).toEqual([])
  const published = answers.filter((answer) => answer !== 'thrown' && answer.ok).length
  expect(published).toBeGreaterThan(INPUTS / 10)
  expect(published).toBeLessThan(INPUTS * 0.9)
})

test('the flags bring a worker node:crypto, and none of the globals of Node', async () => {
  expect(await inWorkerd.globals()).toEqual([])
  const { globals } = await start(['nodejs_compat'])
  expect(await globals()).toEqual(['process', 'Buffer', 'global', 'setImmediate'])
})

test('a worker without the flag for node:crypto publishes nothing, and runs', async () => {
  const { judge } = await start(RUNTIME.compatibilityFlags.filter((flag) => !flag.includes('nodejs')))
  const [rsa, key] = [certificateOf(made, 'rsa'), made.keys.get('SEC 1') ?? '']
  expect(await judge([rsa, rsa + key, ''].map((value) => Buffer.from(value)))).toEqual([
    'thrown',
    { ok: false, failure: { is: 'private-key' } },
    { ok: false, failure: { is: 'blank' } },
  ])
})
