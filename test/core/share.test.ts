import { describe, expect, test } from 'vitest'
import { createShare } from '../../src/core/share.ts'

/** A share whose clock a test sets, and pieces of work that it ends. */
function sharing(timeoutMs = 10_000) {
  const clock = { now: 1_000_000 }
  const begun: PromiseWithResolvers<string>[] = []
  const share = createShare<string>({ now: () => clock.now, timeoutMs })
  const start = () => {
    const work = Promise.withResolvers<string>()
    begun.push(work)
    return work.promise
  }
  return { clock, begun, share, ask: (signal?: AbortSignal) => share(start, signal) }
}

test('callers at the same time share one piece of work and its answer', async () => {
  const { begun, ask } = sharing()
  const asked = [ask(), ask(), ask()]
  expect(begun).toHaveLength(1)
  begun[0]?.resolve('done')
  expect(await Promise.all(asked)).toEqual(['done', 'done', 'done'])
})

test('a caller after the answer begins anew: nothing is kept', async () => {
  const { begun, ask } = sharing()
  const first = ask()
  begun[0]?.resolve('one')
  expect(await first).toBe('one')
  const second = ask()
  begun[1]?.resolve('two')
  expect(await second).toBe('two')
  expect(begun).toHaveLength(2)
})

test('a failure is everybody’s, and nobody’s afterwards', async () => {
  const { begun, ask } = sharing()
  const asked = [ask(), ask()]
  begun[0]?.reject(new Error('broken'))
  for (const each of asked) await expect(each).rejects.toThrow('broken')
  const again = ask()
  begun[1]?.resolve('mended')
  expect(await again).toBe('mended')
})

test('work that throws before it is any is passed on and not kept', async () => {
  const { share, ask, begun } = sharing()
  expect(() =>
    share(() => {
      throw new Error('at once')
    }),
  ).toThrow('at once')
  const next = ask()
  begun[0]?.resolve('done')
  expect(await next).toBe('done')
})

describe('a caller whose signal fires', () => {
  test('is answered nothing, at once; the work goes on for the others', async () => {
    const { begun, ask } = sharing()
    const gone = new AbortController()
    const [leaving, staying] = [ask(gone.signal), ask()]
    gone.abort()
    expect(await leaving).toBeUndefined()
    begun[0]?.resolve('done')
    expect(await staying).toBe('done')
    expect(begun).toHaveLength(1)
  })

  test('before it asks is answered nothing too', async () => {
    const { ask } = sharing()
    expect(await ask(AbortSignal.abort())).toBeUndefined()
  })

  test('does not turn a later failure into one that nobody hears', async () => {
    const { begun, ask } = sharing()
    expect(await ask(AbortSignal.abort())).toBeUndefined()
    // An unhandled rejection would fail this run.
    begun[0]?.reject(new Error('broken'))
    await new Promise((resolve) => setImmediate(resolve))
    const next = ask()
    expect(begun).toHaveLength(2)
    begun[1]?.resolve('done')
    expect(await next).toBe('done')
  })
})

describe('work that never ends', () => {
  test('is waited for so long and no longer', async () => {
    expect(await sharing(5).ask()).toBeUndefined()
  })

  test.each([
    ['joined until it is as old as it may be', 9_999, 1],
    ['not joined from then on', 10_000, 2],
    // It cannot be younger than it is.
    ['not joined when the clock was set back', -1, 2],
  ])('is %s', (_, milliseconds, pieces) => {
    const { clock, begun, ask } = sharing()
    const gone = AbortSignal.abort()
    void ask(gone)
    clock.now += milliseconds
    void ask(gone)
    expect(begun).toHaveLength(pieces)
  })

  test('does not end its successor when it ends after all', async () => {
    const { clock, begun, ask } = sharing()
    const first = ask()
    clock.now += 10_000
    const second = ask()
    begun[0]?.resolve('late')
    expect(await first).toBe('late')
    const third = ask()
    expect(begun).toHaveLength(2)
    begun[1]?.resolve('done')
    expect(await Promise.all([second, third])).toEqual(['done', 'done'])
  })
})
