import { expect, test } from 'vitest'
import { createOnceAtATime } from '../../src/core/once-at-a-time.ts'

/** Work that ends when it is told to. */
function heldWork() {
  const ends: ((value: number) => void)[] = []
  const work = () =>
    new Promise<number>((resolve) => {
      ends.push(resolve)
    })
  return { work, begun: () => ends.length, end: (index: number) => ends[index]?.(index) }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))
const options = (now: () => number = () => 0) => ({ now, aliveMs: 1000 })

test('what is asked for while it runs is done once more, by whoever began it, however often it was asked for', async () => {
  const { work, begun, end } = heldWork()
  const once = createOnceAtATime<number>(options())
  const first = once('a', work)
  expect(await Promise.all([once('a', work), once('a', work), once('a', work)])).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(begun()).toBe(1)
  end(0)
  await settle()
  expect(begun()).toBe(2)
  end(1)
  expect(await first).toBe(1)
  expect(begun()).toBe(2)
})

test('keys do not wait for each other', async () => {
  const { work, begun, end } = heldWork()
  const once = createOnceAtATime<number>(options())
  const both = [once('a', work), once('b', work)]
  expect(begun()).toBe(2)
  end(0)
  end(1)
  expect(await Promise.all(both)).toEqual([0, 1])
})

test('after it has ended, or failed, it begins anew', async () => {
  const once = createOnceAtATime<number>(options())
  expect(await once('a', async () => 1)).toBe(1)
  await expect(once('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await once('a', async () => 2)).toBe(2)
})

test('what has run for too long is taken for dead: another begins, and keeps its place when the dead one ends', async () => {
  let now = 0
  const { work, begun, end } = heldWork()
  const once = createOnceAtATime<number>(options(() => now))
  const dead = once('a', work)
  now = 1000
  const alive = once('a', work)
  expect(begun()).toBe(2)
  end(0)
  expect(await dead).toBe(0)
  expect(await once('a', work)).toBeUndefined()
  end(1)
  await settle()
  end(2)
  expect(await alive).toBe(2)
})
