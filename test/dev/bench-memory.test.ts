import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BareSend, createBareClient } from '../../bench/bare-client.ts'
import { INSPECTED, type LiveHeap, openLiveHeap } from '../../bench/live-heap.ts'
import { growthOf, lineThrough } from '../../bench/many-mints.ts'
import { type Running, startProgram } from '../helpers/program.ts'

/** A leak that is not seen, or garbage that is taken for one, would be a figure as well. */
describe('the live heap of a process', { timeout: 30_000 }, () => {
  /** Each request makes 1 MiB: in V8's heap, or beside it, or as garbage. */
  const script = `
    const kept = []
    const make = {
      '/heap': () => kept.push(new Array(2 ** 17).fill(0.5)),
      '/beside': () => kept.push(new Uint8Array(2 ** 20)),
      '/garbage': () => new Array(2 ** 17).fill(0.5).length,
    }
    process.on('SIGTERM', () => process.exit(0))
    require('node:http').createServer(({ url }, answer) => answer.end(String(make[url]())))
      .listen(0, '127.0.0.1', function () { console.log('port ' + this.address().port) })`
  let program: Running
  let live: LiveHeap
  let send: BareSend

  beforeAll(async () => {
    program = await startProgram([process.execPath, INSPECTED, '-e', script], { ready: /port (\d+)/ })
    live = await openLiveHeap(program.output())
    send = createBareClient({ url: `http://127.0.0.1:${program.found[1]}`, token: 'none' })
  }, 30_000)
  afterAll(() => program?.stop())

  const growthAfter = async (path: string) => {
    // What a first request makes Node compile is over.
    await send('GET', '/garbage')
    const before = await live.read()
    for (let time = 0; time < 16; time += 1) await send('GET', path)
    return (await live.read()) - before
  }

  test.each([
    ['has what is kept in it', '/heap', 16],
    ['has typed arrays in it, which V8 does not count', '/beside', 16],
    ['has no garbage in it', '/garbage', 0],
  ])('%s', async (_, path, mebibytes) => {
    expect(Math.abs((await growthAfter(path)) - mebibytes)).toBeLessThan(0.5)
  })

  test('is not read where no inspector listens', async () => {
    await expect(openLiveHeap('listening')).rejects.toThrow('no inspector')
  })

  test('lets go of the process, which then ends when it is asked to', async () => {
    await live.close()
    expect(await program.stop('SIGTERM')).toBe(0)
  })
})

describe('growth', () => {
  /** 1, 3, 2: the line is 1.5, 2, 2.5; it is off by 0.5, 1, 0.5, of which the squares are 1.5, over one degree of freedom and a variance of 2. */
  test('is a line by least squares, and how far off it may be', () => {
    const { slope, error } = lineThrough([1, 3, 2])
    expect(slope).toBeCloseTo(0.5)
    expect(error).toBeCloseTo(Math.sqrt(0.75))
  })

  const plan = { mints: 80, forMs: 60_000, credentials: ['a', 'b'], samples: 20 }
  const mintingInto = (calls: string[], perMint: number) => {
    let resident = 50
    return {
      mint: async (credential: string) => {
        calls.push('GET /api/v1/namespaces/t/secrets/x', `PUT /api/v1/namespaces/t/secrets/${credential}`)
        resident += perMint
      },
      read: async () => resident,
      stop: async () => undefined,
    }
  }
  const apiWith = (calls: readonly string[]) => ({ calls, forgetEvents: async () => undefined })

  test('is of 100,000 mints', async () => {
    const calls: string[] = []
    const growth = await growthOf(mintingInto(calls, 2 / 100_000), apiWith(calls), plan)
    expect(growth.mints).toBe(80)
    expect(growth.samples).toHaveLength(20)
    expect(growth.slope).toBeCloseTo(2)
    expect(growth.error).toBeCloseTo(0)
  })

  test('is none of mints that did not write', async () => {
    const minting = growthOf(mintingInto([], 0), apiWith([]), plan)
    await expect(minting).rejects.toThrow('80 mints were 0 writes')
  })
})
