import { afterAll, describe, test } from 'vitest'
import { publishable } from '../../src/trust-anchor/certificates.ts'
import { expectJudged } from './judge.ts'
import { makeCertificates } from './made.ts'
import { valuesOf } from './values.ts'

const made = await makeCertificates()
afterAll(made.remove)

describe('what is published of', () => {
  test.each(valuesOf(made).map((value) => [value.name, value] as const))('%s', async (_name, value) => {
    expectJudged(made, value, await publishable(value.value))
  })
})
