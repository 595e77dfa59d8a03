import type { StartApi } from './start-api.ts'

/** A process that mints, and what of it is measured. */
export interface Minting {
  readonly mint: (credential: string) => Promise<unknown>
  /** MiB. */
  readonly read: () => Promise<number>
  readonly stop: () => Promise<unknown>
}

type Counted = Pick<StartApi, 'calls' | 'forgetEvents'>

interface Plan {
  readonly mints: number
  /** Whichever comes first. */
  readonly forMs: number
  /** One mint at a time of each: two of one account are a conflict. */
  readonly credentials: readonly string[]
  readonly samples: number
}

export interface Growth {
  readonly mints: number
  /** MiB, evenly spaced. */
  readonly samples: readonly number[]
  /** MiB in 100,000 mints, over the second half: a straight line by least squares, and its standard error. */
  readonly slope: number
  readonly error: number
}

/** Mints a lot, reads after each share of it, and ends the process. Throws when the API has not seen as many writes. */
export async function growthOf(minting: Minting, api: Counted, plan: Plan): Promise<Growth> {
  const each = plan.mints / plan.samples
  const before = api.calls.length
  const samples: number[] = []
  const until = performance.now() + plan.forMs
  while (samples.length < plan.samples && performance.now() < until) {
    await mintEach(minting, plan.credentials, each)
    samples.push(await minting.read())
    // What the API in memory keeps is no matter of this, but takes the same machine's.
    await api.forgetEvents()
  }
  await minting.stop()
  const mints = samples.length * each
  const writes = api.calls.slice(before).filter((call) => /^(POST|PUT) .*\/secrets/.test(call)).length
  if (writes !== mints) throw new Error(`${mints} mints were ${writes} writes`)
  const { slope, error } = lineThrough(samples.slice(Math.floor(samples.length / 2)))
  return { mints, samples, slope: (slope * 100_000) / each, error: (error * 100_000) / each }
}

async function mintEach({ mint }: Minting, credentials: readonly string[], count: number): Promise<void> {
  let left = count
  await Promise.all(
    credentials.map(async (credential) => {
      while (left > 0) {
        left -= 1
        await mint(credential)
      }
    }),
  )
}

/** Of evenly spaced samples, by least squares: per sample. */
export function lineThrough(samples: readonly number[]): { readonly slope: number; readonly error: number } {
  const middle = (samples.length - 1) / 2
  const mean = samples.reduce((sum, each) => sum + each, 0) / samples.length
  const covariance = samples.reduce((sum, each, index) => sum + (index - middle) * (each - mean), 0)
  const variance = samples.reduce((sum, _, index) => sum + (index - middle) ** 2, 0)
  const slope = covariance / variance
  const off = samples.reduce((sum, each, index) => sum + (each - mean - slope * (index - middle)) ** 2, 0)
  return { slope, error: Math.sqrt(off / (samples.length - 2) / variance) }
}
