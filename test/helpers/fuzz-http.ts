/** A number from 0 up to, not including, 1. */
export type Random = () => number

/** Mulberry32: small, and the same numbers for the same seed everywhere. */
export function seeded(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const below = (random: Random, end: number): number => Math.floor(random() * end)
export function pick<T>(random: Random, choices: readonly [T, ...T[]]): T {
  return choices[below(random, choices.length)] ?? choices[0]
}

/** What breaks parsers: ends of lines, encodings, separators, numbers at limits, names that objects inherit. */
export const NASTY: readonly [string, ...string[]] = [
  '',
  ' ',
  '\t',
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\0',
  '\x0b',
  '\x7f',
  '\xff',
  '\xc3\x28',
  '\xed\xa0\x80',
  '%',
  '%00',
  '%2f',
  '%2e%2e',
  '%25',
  '%zz',
  '/',
  '//',
  '/./',
  '/../',
  '\\',
  ';',
  '?',
  '??',
  '#',
  '&',
  '=',
  ':',
  ',',
  '"',
  "'",
  '`',
  '{',
  '}',
  '[',
  ']',
  '<',
  '>',
  '@',
  '..',
  '.',
  '-',
  '_',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'true',
  '-1',
  '0',
  '1e999',
  '9007199254740993',
  'a'.repeat(300),
  'HTTP/1.1',
  'chunked',
  '\ufeff',
  '*',
  '0x',
  '+',
]

/** The text with a few pieces replaced, doubled, cut out or put in. */
function mutate(random: Random, text: string, times = 1 + below(random, 3)): string {
  if (times === 0) return text
  const at = below(random, text.length + 1)
  const length = below(random, 6)
  const piece = pick<string>(random, [
    pick(random, NASTY),
    text.slice(at, at + length).repeat(2),
    String.fromCharCode(below(random, 256)),
    '',
  ])
  return mutate(random, text.slice(0, at) + piece + text.slice(at + length), times - 1)
}

/** Now and then another text. */
export const maybe = (random: Random, text: string, chance: number): string =>
  random() < chance ? mutate(random, text) : text

export interface Parts {
  readonly paths: readonly [string, ...string[]]
  readonly token: string
}

const QUERIES: readonly [string, ...string[]] = [
  '',
  '',
  '?dryRun=All',
  '?dryRun=All&fieldValidation=Warn',
  '?fieldValidation=Ignore',
  '?limit=3&continue=abc',
  '?labelSelector=apps.cozystack.io%2Fapplication.name%3Dorders',
  '?fieldSelector=metadata.name%3Da.b',
  '?watch=1',
  '?includeObject=None',
]
const BODIES: readonly [string, ...string[]] = [
  '',
  '',
  '{}',
  '{"apiVersion":"core.cozystack.io/v1alpha1","kind":"CredentialRequest"}',
  '{"spec":{"preconditions":{"resourceVersion":"10","uid":"u"}}}',
  '{"metadata":{"name":"a.b"},"spec":{},"spec":{}}',
  '[[[[[[]]]]]]',
  '"text"',
]
const HEADERS: readonly [string, ...string[]] = [
  'Content-Type: application/json',
  'Content-Type: text/plain',
  'Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
  'Accept: text/html',
  'Idempotency-Key: 1',
  'Impersonate-User: root',
  'X-Remote-User: root',
  'Audit-ID: abc',
  'Content-Encoding: gzip',
  'Expect: 100-continue',
  'Connection: close',
  'Connection: upgrade',
  'Upgrade: h2c',
  'X-Forwarded-Proto: https',
  'Range: bytes=0-1',
  'If-Match: "1"',
  'Cookie: a=b',
  'Trailer: X-A',
]
const METHODS: readonly [string, ...string[]] = [
  'POST',
  'POST',
  'POST',
  'GET',
  'GET',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]

/** A request that is well-formed, or nearly, or not at all. Latin-1. */
export function fuzzedRequest(random: Random, { paths, token }: Parts): string {
  const path = maybe(random, pick(random, paths), 0.15)
  const query = maybe(random, pick(random, QUERIES), 0.25)
  const line = maybe(random, `${pick(random, METHODS)} ${path}${query} HTTP/1.1`, 0.05)
  const { framing, sent } = framed(random, maybe(random, pick(random, BODIES), 0.5))
  const headers = [
    'Host: mintonce.test',
    `Authorization: ${maybe(random, `Bearer ${token}`, 0.1)}`,
    ...Array.from({ length: below(random, 3) }, () => maybe(random, pick(random, HEADERS), 0.15)),
    ...framing,
  ].map((header) => maybe(random, header, 0.02))
  return maybe(random, `${line}\r\n${headers.join('\r\n')}\r\n\r\n${sent}`, 0.05)
}

interface Framed {
  readonly framing: readonly string[]
  readonly sent: string
}

/** Mostly as RFC 9112, section 6, wants it. */
function framed(random: Random, body: string): Framed {
  const length = { framing: [`Content-Length: ${body.length}`], sent: body }
  const chunks = { framing: ['Transfer-Encoding: chunked'], sent: chunked(random, body) }
  if (random() < 0.8) return pick<Framed>(random, [length, length, chunks])
  return pick<Framed>(random, [
    { ...length, sent: mutate(random, body) },
    { ...chunks, sent: mutate(random, chunks.sent) },
    { ...chunks, framing: [...length.framing, ...chunks.framing] },
    { ...length, framing: [`Content-Length: ${pick(random, NASTY)}`] },
    { ...length, framing: [] },
  ])
}

function chunked(random: Random, body: string): string {
  const at = below(random, body.length + 1)
  const parts = [body.slice(0, at), body.slice(at)].filter((part) => part !== '')
  return `${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`
}
