import { describe, expect, test } from 'vitest'
import { createCollector, readBytes } from '../../src/core/bytes.ts'

const never = new AbortController().signal

describe('bytes that are collected', () => {
  test.each([1, 7, 1000, 16_384, 50_000])('are what came, in pieces of %i', (size) => {
    const all = Uint8Array.from({ length: 50_000 }, (_, index) => index % 251)
    const { take, bytes } = createCollector(50_000)
    for (let at = 0; at < all.length; at += size) expect(take(all.slice(at, at + size))).toBe(true)
    expect(bytes()).toEqual(all)
  })

  test('are copies from the second piece on: no piece is kept, however small it is', () => {
    const { take, bytes } = createCollector(100)
    const pieces = [1, 2, 3, 4].map((value) => Uint8Array.of(value))
    for (const [index, piece] of pieces.entries()) {
      take(piece)
      if (index > 0) piece.fill(0)
    }
    pieces[0]?.fill(0)
    expect([...bytes()]).toEqual([1, 2, 3, 4])
  })

  test('take no more memory than twice what came, nor than what may come', () => {
    const { take, bytes } = createCollector(65_536)
    const sizes = new Set<number>()
    for (let count = 0; count < 65_536; count += 1) {
      take(Uint8Array.of(1))
      sizes.add(bytes().buffer.byteLength)
    }
    expect(Math.max(...sizes)).toBe(65_536)
    expect(sizes.size).toBeLessThanOrEqual(5)
  })

  test('are those that were taken when there are too many', () => {
    const { take, bytes } = createCollector(3)
    expect([take(Uint8Array.of(1, 2)), take(Uint8Array.of(3)), take(Uint8Array.of(4))]).toEqual([
      true,
      true,
      false,
    ])
    expect([...bytes()]).toEqual([1, 2, 3])
  })

  test('are none when nothing came', () => {
    expect(createCollector(3).bytes()).toEqual(new Uint8Array())
    expect(createCollector(0).take(Uint8Array.of(1))).toBe(false)
  })
})

test('a stream is read to its end, or to its limit', async () => {
  const streamOf = (...pieces: readonly string[]) => new Blob(pieces as string[]).stream()
  expect(await readBytes(streamOf('ab', 'cd'), 4, never)).toEqual(new TextEncoder().encode('abcd'))
  expect(await readBytes(streamOf('ab', 'cd'), 3, never)).toBeUndefined()
  expect(await readBytes(null, 3)).toEqual(new Uint8Array())
})
