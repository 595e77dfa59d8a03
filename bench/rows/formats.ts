import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import bcryptjs from 'bcryptjs'
import { formats } from '../../src/formats/index.ts'
import { interleaved, timed } from '../figures.ts'
import { compared, type Finding, figure, type Row } from './row.ts'

const ROUNDS = 40
/** Of what is too short to time by itself. */
const BATCH = 50
const password = 'Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU'
const random = (length: number) => new Uint8Array(randomBytes(length))

/** The primitive that a format is made of, by somebody else's code where there is any. */
const primitives: Readonly<Record<string, { readonly name: string; readonly run: () => unknown }>> = {
  'scram-sha-256': {
    name: 'PBKDF2 of `node:crypto`, 4096 rounds, and two HMACs',
    run: () => {
      const salted = pbkdf2Sync(password, randomBytes(16), 4096, 32, 'sha256')
      return [hmac(salted, 'Client Key'), hmac(salted, 'Server Key')]
    },
  },
  'mysql-native': {
    name: 'SHA-1 twice by `node:crypto`',
    run: () => digest('sha1', digest('sha1', password)),
  },
  sha256: { name: 'SHA-256 by `node:crypto`', run: () => digest('sha256', password) },
  'rabbitmq-sha256': { name: 'SHA-256 by `node:crypto`', run: () => digest('sha256', password) },
  bcrypt: { name: 'bcryptjs, cost 10', run: () => bcryptjs.hashSync(password, 10) },
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
      const beside = async () => (await timed(() => repeat(async () => primitive?.run(), times))) / times
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
