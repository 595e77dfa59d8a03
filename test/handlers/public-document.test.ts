import { expect, test } from 'vitest'
import { lazily } from '../../src/handlers/public-document.ts'

test('a document is built when it is first asked for, and once', async () => {
  let built = 0
  const document = lazily(() => {
    built += 1
    return { a: 1 }
  })
  expect(built).toBe(0)
  const first = await document()
  expect(await document()).toBe(first)
  expect(built).toBe(1)
})

test('its hash is the SHA-256 of its JSON', async () => {
  // printf '{"a":1}' | sha256sum
  const hash = '015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862'
  expect(await lazily(() => ({ a: 1 }))()).toEqual({ body: { a: 1 }, hash })
})
