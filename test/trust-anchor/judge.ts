import { expect } from 'vitest'
import type { Published } from '../../src/trust-anchor/certificates.ts'
import type { Made } from './made.ts'
import type { Value } from './values.ts'
import { certificateOf } from './values.ts'

/** That a value was judged as expected, and what is published of it is what OpenSSL wrote. */
export function expectJudged(made: Made, { name, expected }: Value, published: Published): void {
  if (Array.isArray(expected)) {
    const pem = expected.map((each) => certificateOf(made, each)).join('')
    expect(published, name).toMatchObject({ ok: true, value: { pem } })
  } else if (expected instanceof RegExp) {
    expect(published, name).toEqual({
      ok: false,
      failure: { is: 'invalid', why: expect.stringMatching(expected) },
    })
  } else {
    expect(published, name).toEqual({ ok: false, failure: { is: expected } })
  }
}
