import { X509Certificate } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { type Published, publishable } from '../../src/trust-anchor/certificates.ts'
import { seeded } from '../helpers/fuzz-http.ts'
import { withSignature } from './element.ts'
import { fuzzedValue, ingredientsOf } from './fuzz-pem.ts'
import { makeCertificates } from './made.ts'
import { certificateOf, derOf } from './values.ts'

const INPUTS = 5000

const made = await makeCertificates()
afterAll(made.remove)
const keyLines = [...made.keys.values()].flatMap((pem) => pem.split('\n').filter((line) => /^M/.test(line)))
/** How they begin in base64: whatever comes behind that, it was meant as a key. */
const keyBegins = [...made.keys.values()].map((pem) => derOf(pem).toString('base64').slice(0, 12))

/** In DER, and as the base64 of it. */
const plainKeys = [...made.keys].filter(([name]) => !name.includes('encrypted')).map(([, pem]) => derOf(pem))
const holds = (der: Buffer, key: Buffer): boolean => der.includes(key) || der.includes(key.toString('base64'))

/** As the contract has it, whatever our own way of looking is. */
const KEY = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY/i
const BLOCK =
  /-----BEGIN CERTIFICATE-----\n((?:[A-Za-z0-9+/]{64}\n)*[A-Za-z0-9+/=]{1,64}\n)-----END CERTIFICATE-----\n/g
const BEGIN = /(?<=^|[\r\n]|\xef\xbb\xbf)-----BEGIN CERTIFICATE-----(?=\s)/g
const END = /(?<=[\r\n])-----END CERTIFICATE-----(?=[ \t\v\f]*(?:[\r\n]|$))/g
const BLANK = /^[ \t\r\n\v\f]*(?:\xef\xbb\xbf)?[ \t\r\n\v\f]*$/
const squeezed = (text: string): string => text.replace(/\s/g, '')

/** What is wrong with what was published of a value, in Latin-1; undefined when nothing is. */
function wrongWith(value: string, published: Published): string | undefined {
  if (!published.ok) return wrongWords(value, published.failure)
  if (KEY.test(value)) return 'a private key in it'
  const { pem } = published.value
  const blocks = [...pem.matchAll(BLOCK)]
  if (pem === '' || pem.replace(BLOCK, '') !== '') return 'published is more than blocks'
  if (keyLines.some((line) => pem.includes(line))) return 'a line of a key is published'
  if (blocks.some(([, body = '']) => plainKeys.some((key) => holds(Buffer.from(body, 'base64'), key))))
    return 'a key is published in a certificate'
  for (const marker of [BEGIN, END]) {
    const lines = value.match(marker)?.length
    if (lines !== blocks.length) return `${blocks.length} are published of ${lines}`
  }
  if (!BLANK.test(value.slice(value.lastIndexOf('-----') + 5))) return 'something is behind the last one'
  const left = blocks.reduce<string | undefined>(
    (rest, [, body = '']) => behind(rest, squeezed(body)),
    squeezed(value),
  )
  if (left === undefined) return 'published is what is not in it, or in another order'
  const strange = blocks.find(([block]) => toPem(block) !== block)
  return strange && `OpenSSL knows no certificate in ${strange[0]}`
}

/** What follows a piece; undefined when it is not in it. */
function behind(text: string | undefined, piece: string): string | undefined {
  const at = text?.indexOf(piece) ?? -1
  return at < 0 ? undefined : text?.slice(at + piece.length)
}

/** As OpenSSL writes it when it has read it. */
function toPem(block: string): string {
  try {
    return new X509Certificate(block).toString()
  } catch {
    return ''
  }
}

/** The words are ours, for people, and none of the value's. */
function wrongWords(value: string, failure: (Published & { ok: false })['failure']): string | undefined {
  if (failure.is === 'private-key') return holdsKey(value) ? undefined : 'there is no key'
  if (KEY.test(value)) return `a private key in it, and it is ${failure.is}`
  if (failure.is === 'blank')
    return value.replace('\xef\xbb\xbf', '').trim() === '' ? undefined : 'it is not blank'
  const own = failure.why.replace(/\d+/, '')
  return /^[ -~]{10,160}$/.test(own) && keyLines.every((line) => !own.includes(line)) ? undefined : own
}

/** By its name, in base64, or in what is base64: as a part of a certificate it begins anywhere. */
const holdsKey = (value: string): boolean =>
  /key/i.test(value.replace(/[^a-z]/gi, '')) ||
  hasBeginning(squeezed(value)) ||
  runsIn(value).some(hasBeginning)

const hasBeginning = (text: string): boolean =>
  keyBegins.some(
    (begin) => text.includes(begin) || text.includes(Buffer.from(begin, 'base64').toString('latin1')),
  )
const runsIn = (value: string): readonly string[] =>
  (squeezed(value).match(/[A-Za-z0-9+/=]{64,}/g) ?? []).map((run) =>
    Buffer.from(run, 'base64').toString('latin1'),
  )

const judged = (value: string): Promise<Published> => publishable(Buffer.from(value, 'latin1'))

test(`of ${INPUTS} values at random nothing but their certificates is published, and no key passes`, {
  timeout: 60_000,
}, async () => {
  const seed = Number(process.env.MINTONCE_FUZZ_SEED ?? Date.now() % 2 ** 32)
  const random = seeded(seed)
  const ingredients = ingredientsOf(made)
  const published: string[] = []
  const refused = new Map<string, number>()
  const wrong: string[] = []
  for (let i = 0; i < INPUTS; i += 1) {
    const value = fuzzedValue(random, ingredients)
    const answer = await judged(value)
    const problem = wrongWith(value, answer)
    if (problem !== undefined) wrong.push(`MINTONCE_FUZZ_SEED=${seed}: ${JSON.stringify(value)}: ${problem}`)
    if (answer.ok) published.push(answer.value.pem)
    else refused.set(kindOf(answer.failure), (refused.get(kindOf(answer.failure)) ?? 0) + 1)
  }
  expect(wrong).toEqual([])
  expect(await foundIn(published.join('')), `MINTONCE_FUZZ_SEED=${seed}`).toEqual(new Set(['Certificate']))
  // A generator that only ever produced noise, or only good values, would prove little.
  expect(published.length).toBeGreaterThan(INPUTS / 10)
  expect(refused.get('private-key')).toBeGreaterThan(INPUTS / 10)
  expect(refused.size).toBeGreaterThan(12)
  // What was published is good, and the same, as a source.
  for (const pem of published.slice(0, 200)) expect(await judged(pem)).toMatchObject({ value: { pem } })
})

const kindOf = (failure: (Published & { ok: false })['failure']): string =>
  failure.is === 'invalid' ? failure.why.replace(/\d+/, 'N') : failure.is

/** The kinds of things that OpenSSL's command line finds in PEM. */
async function foundIn(pem: string): Promise<ReadonlySet<string>> {
  await made.write('published.pem', pem)
  const told = await made.openssl(['storeutl', '-noout', 'published.pem'])
  return new Set([...told.matchAll(/^\d+: (.*)$/gm)].map(([, kind = '']) => kind))
}

describe('the judge of the values at random', () => {
  const [rsa, ec] = [certificateOf(made, 'rsa'), certificateOf(made, 'ec')]
  const key = made.keys.get('PKCS #8, EC') ?? ''
  const signedBy = (bytes: Buffer): string => new X509Certificate(withSignature(derOf(rsa), bytes)).toString()
  const publishing = (pem: string): Published => ({ ok: true, value: { pem, certificates: [] } })

  test.each<readonly [string, string, string, RegExp | undefined]>([
    ['the same', rsa, rsa, undefined],
    ['all', `${rsa}x\n${ec}`, rsa + ec, undefined],
    ['a key', rsa + key, rsa, /a private key/],
    ['a key with them', rsa, rsa + key, /more than blocks/],
    ['a key as a certificate', rsa, rsa + key.replaceAll('PRIVATE KEY', 'CERTIFICATE'), /line of a key/],
    ['a key in a certificate', rsa, signedBy(derOf(key)), /in a certificate/],
    ['base64 of one', rsa, signedBy(Buffer.from(derOf(key).toString('base64'))), /in a certificate/],
    ['text', rsa, `x\n${rsa}`, /more than blocks/],
    ['nothing', rsa, '', /more than blocks/],
    ['one left out', rsa + ec, rsa, /1 are published of 2/],
    ['another', rsa, ec, /not in it/],
    ['what has no end', rsa + ec.slice(0, -26), rsa + ec, /2 are published of 1/],
    ['what has something behind', `${rsa}x`, rsa, /behind the last one/],
    ['another order', rsa + ec, ec + rsa, /another order/],
    ['no certificate', rsa.replace('\nM', '\nN'), rsa.replace('\nM', '\nN'), /OpenSSL knows no certificate/],
  ])('knows %s', (_name, value, pem, problem) => {
    const found = wrongWith(value, publishing(pem))
    if (problem === undefined) expect(found).toBeUndefined()
    else expect(found).toMatch(problem)
  })
})
