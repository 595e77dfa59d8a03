import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { isSignedByOneOf } from '../../src/auth/flux-signature.ts'
import { utf8 } from '../../src/core/text.ts'

/** What openssl makes of it: `printf '%s' "$BODY" | openssl dgst -sha256 -hmac test-token`. */
const KEY = 'test-token'
const BODY = utf8(
  '{"involvedObject":{"kind":"HelmRelease","namespace":"tenant-acme","name":"postgres-orders"}}',
)
const SIGNATURE = 'sha256=a70a0de48c2fc5db106ff0a95c7318f0908d8eff86a70c24b8b2470efeaafc30'

const sign = (algorithm: string, key: string, body: Uint8Array = BODY): string =>
  `${algorithm}=${createHmac(algorithm, key).update(body).digest('hex')}`

test('a signature by the key is one, by whichever of the two', async () => {
  expect(await isSignedByOneOf([KEY], BODY, SIGNATURE)).toBe(true)
  expect(await isSignedByOneOf(['new', KEY], BODY, SIGNATURE)).toBe(true)
  expect(await isSignedByOneOf([KEY, 'old'], BODY, SIGNATURE)).toBe(true)
  expect(await isSignedByOneOf(['new', 'old'], BODY, sign('sha256', 'old'))).toBe(true)
})

test.each<[what: string, header: string | null, keys?: readonly string[]]>([
  ['none', null],
  ['an empty one', ''],
  ['the hash alone', SIGNATURE.slice(7)],
  ['one of another algorithm', sign('sha512', KEY)],
  ['one of a weak algorithm', sign('sha1', KEY)],
  ['one by another key', sign('sha256', 'other')],
  ['one that is cut', SIGNATURE.slice(0, -2)],
  ['one that goes on', `${SIGNATURE}00`],
  ['one of which one digit is wrong', `${SIGNATURE.slice(0, -1)}1`],
  ['two', `${SIGNATURE}, ${SIGNATURE}`],
  ['one where there is no key', SIGNATURE, []],
])('%s is no signature', async (_, header, keys = [KEY]) => {
  expect(await isSignedByOneOf(keys, BODY, header)).toBe(false)
})

test('a signature is of these bytes and no others', async () => {
  const spaced = utf8(new TextDecoder().decode(BODY).replace(':', ': '))
  expect(await isSignedByOneOf([KEY], spaced, SIGNATURE)).toBe(false)
  expect(await isSignedByOneOf([KEY], new Uint8Array(), SIGNATURE)).toBe(false)
  expect(await isSignedByOneOf([KEY], new Uint8Array(), sign('sha256', KEY, new Uint8Array()))).toBe(true)
})
