import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ANCHOR, SOURCE } from '../contract/anchoring.ts'
import { leaks } from '../contract/passwords.ts'
import { bodyLinesOf } from '../helpers/engine-ca.ts'
import { seeded } from '../helpers/fuzz-http.ts'
import { fuzzedValue, ingredientsOf } from '../trust-anchor/fuzz-pem.ts'
import { type Made, makeCertificates } from '../trust-anchor/made.ts'
import { type Anchored, type Place, startAnchored } from './anchored.ts'

const INPUTS = 200
const KEY = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY/i
const BLOCK = /-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+-----END CERTIFICATE-----\n/g

let anchored: Anchored
let made: Made
beforeAll(async () => {
  anchored = await startAnchored()
  made = await makeCertificates()
})
afterAll(async () => {
  await made?.remove()
  await anchored?.stop()
})

/** A new value for the source, in Latin-1, and an event about it. */
async function renew({ namespace, change }: Place, value: string): Promise<void> {
  await change(SOURCE, (secret) => {
    secret.data = { 'ca.crt': Buffer.from(value, 'latin1').toString('base64') }
  })
  expect(await anchored.hint(namespace, 'Secret', SOURCE)).toBe(204)
}

/** As OpenSSL writes it when it has read it. */
function asOpenSsl(block: string): string {
  try {
    return new X509Certificate(block).toString()
  } catch {
    return ''
  }
}

test(`of ${INPUTS} values at random nothing but certificates is ever published, and what is refused changes nothing`, async () => {
  const seed = Number(process.env.MINTONCE_FUZZ_SEED ?? Date.now() % 2 ** 32)
  const random = seeded(seed)
  const ingredients = ingredientsOf(made)
  const acme = await anchored.place()
  await anchored.hint(acme.namespace, 'Secret', SOURCE)
  const wrong: string[] = []
  let [published, refused] = [0, 0]
  let before = await acme.secret(ANCHOR)
  for (let i = 0; i < INPUTS; i += 1) {
    const value = fuzzedValue(random, ingredients)
    await renew(acme, value)
    const after = await acme.secret(ANCHOR)
    const pem = Buffer.from(after.data['ca.crt'], 'base64').toString('latin1')
    const blocks = pem.match(BLOCK) ?? []
    const isGood =
      Object.keys(after.data).join() === 'ca.crt' &&
      blocks.length > 0 &&
      blocks.join('') === pem &&
      blocks.every((block) => asOpenSsl(block) === block)
    const isSame = after.metadata.resourceVersion === before.metadata.resourceVersion
    if (!isGood || (KEY.test(value) && !isSame)) wrong.push(JSON.stringify(value))
    const [condition] = (await acme.projection()).status.conditions
    if (condition.reason === 'Projected') published += 1
    else if (isSame) refused += 1
    else wrong.push(`${condition.reason}: ${JSON.stringify(value)}`)
    before = after
  }
  expect(wrong, `MINTONCE_FUZZ_SEED=${seed}`).toEqual([])
  expect([published, refused].every((count) => count > INPUTS / 10)).toBe(true)
})

test('no line of a key that was among them is in a log, an Event or a status', async () => {
  const lines = [...made.keys.values()].flatMap(bodyLinesOf)
  const { admin, plane, other } = anchored
  const events = JSON.stringify(await admin.get('/apis/events.k8s.io/v1/events'))
  const declared = JSON.stringify(await admin.get('/apis/internal.cozystack.io/v1alpha1/tenantprojections'))
  expect(events).toContain('CACertPrivateKeyRefused')
  expect(events).toContain('CACertInvalid')
  for (const text of [events, declared, other.output(), await plane.auditLog()]) {
    expect(text.length).toBeGreaterThan(100)
    expect(leaks(text, lines)).toEqual([])
  }
})
