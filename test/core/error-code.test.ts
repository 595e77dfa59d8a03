import { describe, expect, test } from 'vitest'
import { codeOf, isUntrusted, markNeverSent, wasNeverSent } from '../../src/core/error-code.ts'

const coded = (code: unknown, cause?: unknown) => Object.assign(new Error('x', { cause }), { code })

describe('the code of an error', () => {
  test.each([
    ['its own', coded('ECONNRESET'), 'ECONNRESET'],
    ['that of its cause', new TypeError('fetch failed', { cause: coded('ENOTFOUND') }), 'ENOTFOUND'],
    ['its own before that of its cause', coded('A', coded('B')), 'A'],
    ['never free text', coded('token abc'), undefined],
    ['never a number', coded(20), undefined],
    ['never a long one', coded('A'.repeat(61)), undefined],
    ['of what is no error', { code: 'ECONNRESET' }, undefined],
    ['of nothing', undefined, undefined],
  ])('is %s', (_what, error, code) => {
    expect(codeOf(error)).toBe(code)
  })
})

// Node's system errors (uv_err_name), and X509_verify_cert_error of OpenSSL as Node names them.
test.each([
  ['ECONNREFUSED', true, false],
  ['EAI_AGAIN', true, false],
  ['NO_CREDENTIALS', true, false],
  ['CERT_HAS_EXPIRED', true, true],
  ['SELF_SIGNED_CERT_IN_CHAIN', true, true],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', true, true],
  ['ERR_TLS_CERT_ALTNAME_INVALID', true, true],
  // After the request may have left.
  ['ECONNRESET', false, false],
  ['EPIPE', false, false],
  ['ETIMEDOUT', false, false],
  ['ABORT_ERR', false, false],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', false, false],
])('%s: never sent %s, not trusted %s', (code, neverSent, untrusted) => {
  expect([wasNeverSent(coded(code)), isUntrusted(code)]).toEqual([neverSent, untrusted])
})

test('an error without a code says nothing about what was sent', () => {
  expect(wasNeverSent(new Error('x'))).toBe(false)
})

test('an error from before there was a connection is marked as that, whatever its code', () => {
  expect(wasNeverSent(markNeverSent(coded('EPROTO')))).toBe(true)
  expect(wasNeverSent(markNeverSent('thrown value'))).toBe(true)
  expect(wasNeverSent({ neverSent: true })).toBe(false)
})
