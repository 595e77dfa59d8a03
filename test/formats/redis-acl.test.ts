import { expect, test } from 'vitest'
import { redisAcl } from '../../src/formats/redis-acl.ts'
import { vectorsOf } from './vectors.ts'

const value = vectorsOf('redis-acl')[0]?.stored ?? ''

test.each([
  ['no #', value.slice(1)],
  ['upper case, which Redis refuses', value.toUpperCase()],
  ['a digit less', value.slice(0, -1)],
  ['a digit more', `${value}0`],
  ['another rule after it', `${value} allcommands`],
  ['the rule that takes a password away', value.replace('#', '!')],
  ['the rule for a password', `>${value.slice(1)}`],
])('with %s does not match', (_, nearMiss) => {
  expect(value).toMatch(redisAcl.canonical)
  expect(nearMiss).not.toMatch(redisAcl.canonical)
})
