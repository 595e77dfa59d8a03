import { execFileSync } from 'node:child_process'
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import bcryptjs from 'bcryptjs'
import { formats } from '../../src/formats/index.ts'
import { interleaved, timed } from '../figures.ts'
import { compared, type Finding, figure, type Row } from './row.ts'

const ROUNDS = 40
/** Of what is too short to time by itself. */
const BATCH = 50
const OPENSSL = 'openssl'
const OPENSSL_BATCH = 20
const password = 'Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU'
const random = (length: number) => new Uint8Array(randomBytes(length))

interface Primitive {
  readonly name: string
  /** Milliseconds of one. */
  readonly cost: (times: number) => Promise<number>
}

const inProcess = (name: string, run: () => unknown): Primitive => ({
  name,
  cost: async (times) => (await timed(() => repeat(async () => run(), times))) / times,
})

/** What a password costs `openssl passwd` more than the first one, which has its start in it. */
const byOpenssl = (name: string, option: string): Primitive => {
  const input = (lines: number) => `${password}\n`.repeat(lines)
  const hash = (lines: number) =>
    timed(async () => execFileSync(OPENSSL, ['passwd', option, '-stdin'], { input: input(lines) }))
  return {
    name: `${name} by openssl`,
    cost: async () => ((await hash(OPENSSL_BATCH + 1)) - (await hash(1))) / OPENSSL_BATCH,
  }
}

/** The primitive that a format is made of, by somebody else's code. */
const primitives: Readonly<Record<string, Primitive>> = {
  'scram-sha-256': inProcess('PBKDF2 of `node:crypto`, 4096 rounds, and two HMACs', () => {
    const salted = pbkdf2Sync(password, randomBytes(16), 4096, 32, 'sha256')
    return [hmac(salted, 'Client Key'), hmac(salted, 'Server Key')]
  }),
  'mysql-native': inProcess('SHA-1 twice by `node:crypto`', () => digest('sha1', digest('sha1', password))),
  sha256: inProcess('SHA-256 by `node:crypto`', () => digest('sha256', password)),
  'rabbitmq-sha256': inProcess('SHA-256 by `node:crypto`', () => digest('sha256', password)),
  'redis-acl': inProcess('SHA-256 by `node:crypto`', () => digest('sha256', password)),
  bcrypt: inProcess('bcryptjs, cost 10', () => bcryptjs.hashSync(password, 10)),
  // MySQL's own is SHA-256 crypt with another salt and another alphabet.
  caching_sha2_password: byOpenssl('SHA-256 crypt, 5000 rounds,', '-5'),
  'sha512-crypt': byOpenssl('SHA-512 crypt, 5000 rounds,', '-6'),
  apr1: byOpenssl('apr1, 1000 rounds,', '-apr1'),
}

/** One stored value of each format. */
export const formatCosts: Row = {
  name: 'formats',
  run: async (context) => {
    const findings: Finding[] = []
    for (const format of formats.values()) {
      const derive = () => format.derive({ username: 'web', password }, { randomBytes: random })
      const primitive = primitives[format.name]
      const [times, isShort] = await batchOf(derive)
      const ours = async () => (await timed(() => repeat(derive, times))) / times
      const beside = async () => (primitive === undefined ? Number.NaN : primitive.cost(times))
      const samples = await interleaved({ ours, beside }, { rounds: context.rounds(ROUNDS), warmUp: 3 })
      const what = `one value, \`${format.name}\``
      findings.push(
        primitive === undefined || isShort
          ? {
              what,
              ours: figure(samples.ours, 'ms'),
              rounds: samples.ours.length,
              ...besideOf(primitive, samples),
            }
          : compared({ what, floor: primitive.name, ours: samples.ours, beside: samples.beside }),
      )
    }
    return findings
  },
}

const besideOf = (
  primitive: { readonly name: string } | undefined,
  { beside }: { readonly beside: readonly number[] },
) => (primitive === undefined ? {} : { floor: primitive.name, beside: figure(beside, 'ms') })

/** How often one after the other, and whether it is short. */
async function batchOf(work: () => Promise<unknown>): Promise<readonly [number, boolean]> {
  await work()
  const isShort = (await timed(work)) < 1
  return isShort ? [BATCH, true] : [1, false]
}

async function repeat(work: () => Promise<unknown>, times: number): Promise<void> {
  for (let each = 0; each < times; each += 1) await work()
}

const digest = (name: string, of: string | Buffer) => createHash(name).update(of).digest()
const hmac = (key: Buffer, of: string) => createHmac('sha256', key).update(of).digest()
