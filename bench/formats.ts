/**
 * What one stored value of each format costs, and beside that, in the same run, what WebCrypto saves or costs against
 * @noble/hashes where a format uses it: `npm run bench:formats`.
 */
import { hmac } from '@noble/hashes/hmac.js'
import { sha1 } from '@noble/hashes/legacy.js'
import { pbkdf2Async } from '@noble/hashes/pbkdf2.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { formats } from '../src/formats/index.ts'
import { show, timed } from './figures.ts'

const ROUNDS = 30
/** One SHA-256 is too short to time by itself. */
const BATCH = 20
const password = 'Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU'
const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length))

for (const format of formats.values()) {
  const samples: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    samples.push(await timed(() => format.derive({ username: 'web', password }, { randomBytes })))
  }
  show(`${format.name}: one value`, samples)
}

const byNoble: Readonly<Record<string, () => Promise<unknown>>> = {
  async 'scram-sha-256'() {
    const salted = await pbkdf2Async(sha256, password, randomBytes(16), { c: 4096, dkLen: 32 })
    return [sha256(hmac(sha256, salted, bytes('Client Key'))), hmac(sha256, salted, bytes('Server Key'))]
  },
  'mysql-native': async () => sha1(sha1(bytes(password))),
  sha256: async () => sha256(bytes(password)),
}

for (const [name, noble] of Object.entries(byNoble)) {
  const format = formats.get(name)
  if (format === undefined) throw new Error(`no format ${name}`)
  const ours = () => format.derive({ username: 'web', password }, { randomBytes })
  const samples = { ours: [] as number[], noble: [] as number[] }
  for (let round = 0; round < ROUNDS; round += 1) {
    samples.ours.push(await timed(() => repeat(ours)))
    samples.noble.push(await timed(() => repeat(noble)))
  }
  show(`${name}: WebCrypto, ${BATCH} values`, samples.ours)
  show(`${name}: @noble/hashes, ${BATCH} values`, samples.noble, samples.ours)
}

async function repeat(work: () => Promise<unknown>): Promise<void> {
  for (let each = 0; each < BATCH; each += 1) await work()
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
