import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import { expect, test } from 'vitest'
import { answerReview } from '../../examples/mongodb-format-webhook/review.ts'
import { scramDocument } from '../../examples/mongodb-format-webhook/scram.ts'

/** The example of RFC 7677, section 3. */
const NONCES = 'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0'
const MESSAGE = `n=user,r=rOprNGfwEbeRWgbNEkqO,${NONCES},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,${NONCES}`
const PROOF = 'dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ='
const SIGNATURE = '6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4='

const bytes = (text: string) => Buffer.from(text, 'base64')
const hmac = (key: Uint8Array, message: string) => createHmac('sha256', key).update(message).digest()

test('its document accepts the proof and gives the signature of RFC 7677', () => {
  const { 'SCRAM-SHA-256': kept } = scramDocument('pencil', bytes('W22ZaJ0SNY7soEsUEjb6gQ=='), 4096)
  const mask = hmac(bytes(kept.storedKey), MESSAGE)
  const clientKey = bytes(PROOF).map((byte, at) => byte ^ (mask[at] ?? 0))
  expect(createHash('sha256').update(clientKey).digest('base64')).toBe(kept.storedKey)
  expect(hmac(bytes(kept.serverKey), MESSAGE).toString('base64')).toBe(SIGNATURE)
  expect(kept).toMatchObject({ iterationCount: 4096, salt: 'W22ZaJ0SNY7soEsUEjb6gQ==' })
})

test('by itself it takes 15000 rounds and 28 bytes of salt, another each time, as MongoDB does', () => {
  const [first, second] = [scramDocument('pencil'), scramDocument('pencil')].map(
    (each) => each['SCRAM-SHA-256'],
  )
  expect(first?.iterationCount).toBe(15_000)
  expect(bytes(first?.salt ?? '')).toHaveLength(28)
  expect(first?.salt).not.toBe(second?.salt)
  const salted = pbkdf2Sync('pencil', bytes(first?.salt ?? ''), 15_000, 32, 'sha256')
  expect(hmac(salted, 'Server Key').toString('base64')).toBe(first?.serverKey)
})

const apiVersion = 'credentials.cozystack.io/v1alpha1'
const request = { uid: 'u-1', format: 'mongodb-scram-sha-256', username: 'web', password: 'pencil' }
const review = (more: object = {}, fields: object = {}) =>
  JSON.stringify({ apiVersion, kind: 'FormatReview', request: { ...request, ...fields }, ...more })

test('it answers a review by its uid, and with nothing of the password', () => {
  const answer = answerReview(review())
  expect(answer).toEqual({
    apiVersion,
    kind: 'FormatReview',
    response: { uid: 'u-1', value: expect.stringMatching(/^\{"SCRAM-SHA-256":\{.*\}\}$/) },
  })
  expect(JSON.stringify(answer)).not.toContain('pencil')
})

test.each([
  ['no JSON', 'soon'],
  ['null', 'null'],
  ['another kind', review({ kind: 'AccountReview' })],
  ['another version', review({ apiVersion: 'credentials.cozystack.io/v1' })],
  ['another format', review({}, { format: 'bcrypt' })],
  ['no password', review({}, { password: '' })],
  ['a password that SASLprep would change', review({}, { password: 'I\u00adX' })],
  ['no uid', review({}, { uid: 7 })],
])('it answers nothing to %s', (_, body) => {
  expect(answerReview(body)).toBeUndefined()
})
