import { NASTY, pick, type Random } from '../helpers/fuzz-http.ts'
import { withSignature } from './element.ts'
import type { Made } from './made.ts'
import { armoured, derOf } from './values.ts'

/** Values of sources at random: certificates, keys and text, put together and then spoilt. */

type Choices = readonly [string, ...string[]]

const below = (random: Random, end: number): number => Math.floor(random() * end)
const latin1 = (value: Uint8Array): string => Buffer.from(value).toString('latin1')

const TEXTS: Choices = [
  '\n',
  'subject=/CN=x\n',
  '# the private key is kept apart\n',
  '# CA with ----BEGIN CERTIFICATE----?\n',
  '#-----BEGIN CERTIFICATE-----\n',
  'Bag Attributes\n    localKeyID: 01 \n',
  latin1(Buffer.from('\ufeff')),
  latin1(Buffer.from('Autorität für alle\n')),
]

/** What a mutation puts in: pieces of markers and of base64 do more harm than noise. */
const PIECES: Choices = [
  ...(NASTY as readonly string[] as Choices),
  '-----BEGIN CERTIFICATE-----\n',
  '-----END CERTIFICATE-----\n',
  '-----BEGIN CERTIFICATE-----',
  '-----END CERTIFICATE-----',
  '-----BEGIN PRIVATE KEY-----\n',
  '-----BEGIN EC PRIVATE KEY',
  '-----END PRIVATE KEY-----\n',
  '-----',
  '----',
  'BEGIN ',
  'END ',
  'CERTIFICATE',
  'TRUSTED ',
  ' PRIVATE KEY',
  'Proc-Type: 4,ENCRYPTED\n\n',
  'AAAA',
  '====',
]

export interface Ingredients {
  readonly certificates: Choices
  readonly keys: Choices
}

export const ingredientsOf = ({ certificates, keys }: Made): Ingredients => ({
  certificates: [...certificates.values()] as readonly string[] as Choices,
  keys: [...keys.values()] as readonly string[] as Choices,
})

/** Bytes as Latin-1. Every fourth or so is as somebody would write it, and is published when there is no key in it. */
export function fuzzedValue(random: Random, ingredients: Ingredients): string {
  const parts = Array.from({ length: 1 + below(random, 4) }, () => part(random, ingredients))
  const value = parts.join('')
  return random() < 0.3 ? value : mutated(random, value, ingredients)
}

/** One certificate with a byte or two that are others: anything from a broken signature to no DER at all. */
export function changedCertificate(random: Random, { certificates }: Ingredients): string {
  const der = derOf(pick(random, certificates))
  for (let times = 1 + below(random, 2); times > 0; times -= 1) {
    const at = below(random, der.length)
    der[at] = random() < 0.5 ? below(random, 256) : (der[at] ?? 0) ^ (1 << below(random, 8))
  }
  return armoured(der)
}

function part(random: Random, { certificates, keys }: Ingredients): string {
  const chance = random()
  if (chance < 0.1) return pick(random, keys)
  if (chance < 0.3) return pick(random, TEXTS)
  const pem = pick(random, certificates)
  if (chance < 0.5) return pem.replaceAll('\n', pick(random, ['\r\n', '\r', ' \n', '\n\n', '\t\r\n']))
  return chance < 0.6 ? spoiltInside(random, pem, keys) : pem
}

/** Good base64 of a certificate that is none any more, or that has a key behind it or in it. */
function spoiltInside(random: Random, pem: string, keys: Choices): string {
  const der = derOf(pem)
  const key = derOf(pick(random, keys))
  const at = below(random, der.length)
  const spoilt = pick<Buffer>(random, [
    key,
    Buffer.concat([der, key]),
    Buffer.concat([der.subarray(0, at), key, der.subarray(at)]),
    withSignature(der, key),
    withSignature(der, Buffer.from(key.toString('base64'))),
    Buffer.concat([der, der]),
    der.subarray(0, at),
    Buffer.from(der).fill(below(random, 256), at, at + 1),
    Buffer.from(der).fill(der, at),
  ])
  return armoured(spoilt)
}

function mutated(
  random: Random,
  value: string,
  ingredients: Ingredients,
  times = 1 + below(random, 3),
): string {
  if (times === 0) return value
  return mutated(random, mutation(random, value, ingredients), ingredients, times - 1)
}

function mutation(random: Random, value: string, { certificates, keys }: Ingredients): string {
  const [at, until] = [below(random, value.length + 1), below(random, value.length + 1)]
  const near = at + below(random, 40)
  const put = (piece: string, end = at) => value.slice(0, at) + piece + value.slice(end)
  const another = pick(random, random() < 0.3 ? keys : certificates)
  return pick<() => string>(random, [
    () => put(pick(random, PIECES)),
    () => put(pick(random, PIECES), near),
    () => put(String.fromCharCode(below(random, 256)), at + 1),
    () => put(''.padEnd(below(random, 5), '\n \t')),
    () => put('', near),
    () => put(value.slice(at, near).repeat(2), near),
    () => value.slice(0, at),
    () => value.slice(at),
    () => put(another),
    // Cut from one place and put at another: blocks in blocks, lines out of order.
    () => put(another.slice(below(random, another.length))),
    () => put(value.slice(until)),
    () => put(swappedCase(value.slice(at, near)), near),
    () => value.replaceAll('\n', pick(random, ['\r\n', '\r', '', ' ', '\0\n'])),
    () => put(`\n${pick(random, keys)}`),
    () => latin1(Buffer.from(value, 'utf16le')),
  ])()
}

const swappedCase = (text: string): string =>
  text.replace(/[A-Za-z]/g, (each) => (each < 'a' ? each.toLowerCase() : each.toUpperCase()))
