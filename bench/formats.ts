/**
 * What one stored value of each format costs, and in the same run what formats are made of, by OpenSSL as in Node, beside the
 * same by JavaScript and WebCrypto as in a worker, run here: `npm run bench:formats`.
 */
import { pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'
import { pbkdf2Async } from '@noble/hashes/pbkdf2.js'
import { sha256 } from '@noble/hashes/sha2.js'
import * as anywhere from '../src/formats/digests.ts'
import { formats } from '../src/formats/index.ts'
import * as node from '../src/formats/node-digests.ts'
import { show, timed } from './figures.ts'

const ROUNDS = 30
const ITERATIONS = 4096
/** One digest is too short to time by itself; crypt(3) makes as many for one value. */
const BATCH = 5000
const password = 'Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU'
const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length))
const bytes = new TextEncoder().encode(password)
const salt = randomBytes(16)

for (const format of formats.values()) {
  const samples: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    samples.push(await timed(() => format.derive({ username: 'web', password }, { randomBytes })))
  }
  show(`${format.name}: one value`, samples)
}

await compare('PBKDF2', {
  'node:crypto': () => node.pbkdf2Sha256(bytes, salt, ITERATIONS),
  'node:crypto, on another thread': () => promisify(pbkdf2)(bytes, salt, ITERATIONS, 32, 'sha256'),
  WebCrypto: () => anywhere.pbkdf2Sha256(bytes, salt, ITERATIONS),
  '@noble/hashes': () => pbkdf2Async(sha256, bytes, salt, { c: ITERATIONS, dkLen: 32 }),
})
await compare(`MD5, ${BATCH} times`, { 'node:crypto': chain(node.md5), '@noble/hashes': chain(anywhere.md5) })
await compare(`SHA-256, ${BATCH} times`, {
  'node:crypto': chain(node.sha256),
  '@noble/hashes': chain(anywhere.sha256),
})
await compare(`SHA-512, ${BATCH} times`, {
  'node:crypto': chain(node.sha512),
  '@noble/hashes': chain(anywhere.sha512),
})

/** In turns; each beside the first. */
async function compare(what: string, ways: Readonly<Record<string, () => Promise<unknown>>>): Promise<void> {
  const all = Object.entries(ways).map(([name, work]) => ({ name, work, samples: [] as number[] }))
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { work, samples } of all) samples.push(await timed(work))
  }
  for (const { name, samples } of all) show(`${what}: ${name}`, samples, all[0]?.samples)
}

function chain(digest: anywhere.Digest): () => Promise<unknown> {
  return async () => {
    let data: Uint8Array = bytes
    for (let each = 0; each < BATCH; each += 1) data = digest(data)
    return data
  }
}
