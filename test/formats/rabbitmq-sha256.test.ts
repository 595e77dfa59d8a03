import { expect, test } from 'vitest'
import { rabbitmqSha256 } from '../../src/formats/rabbitmq-sha256.ts'
import { vectorsOf } from './vectors.ts'

const value = vectorsOf('rabbitmq-sha256')[0]?.stored ?? ''

test('VER-13: the bytes of the salt are hashed and sent, not their hex', () => {
  const raw = Buffer.from(value, 'base64')
  expect(raw).toHaveLength(36)
  expect(raw.subarray(0, 4).toString('hex')).toBe('908dc60a')
  expect(value).toMatch(rabbitmqSha256.canonical)
})

test.each([
  ['hex', Buffer.from(value, 'base64').toString('hex')],
  ['url-safe base64', value.replace('+', '-')],
  ['a SHA-512, which has 68 bytes', Buffer.alloc(68, 1).toString('base64')],
  ['a digest without a salt', Buffer.from(value, 'base64').subarray(4).toString('base64')],
])('VER-13: %s does not match', (_, nearMiss) => {
  expect(nearMiss).not.toMatch(rabbitmqSha256.canonical)
})
