import { describe, expect, test } from 'vitest'
import { isDnsLabel, isDnsSubdomain, pathOf } from '../../src/k8s/names.ts'

/** From `k8s.io/apimachinery/pkg/util/validation/validation_test.go`: TestIsDNS1123Label, TestIsDNS1123Subdomain. */
const LABELS = [
  'a',
  'ab',
  'abc',
  'a1',
  'a-1',
  'a--1--2--b',
  '0',
  '01',
  '012',
  '1a',
  '1-a',
  '1--a--b--2',
  'a'.repeat(63),
]
const NO_LABELS = [
  '',
  'A',
  'ABC',
  'aBc',
  'A1',
  'A-1',
  '1-A',
  '-',
  'a-',
  '-a',
  '1-',
  '-1',
  '_',
  'a_',
  '_a',
  'a_b',
  '1_',
  '_1',
  '1_2',
  '.',
  'a.',
  '.a',
  'a.b',
  '1.',
  '.1',
  '1.2',
  ' ',
  'a ',
  ' a',
  'a b',
  '1 ',
  ' 1',
  '1 2',
  'a'.repeat(64),
]
const SUBDOMAINS = [
  ...LABELS,
  'a.a',
  'ab.a',
  'abc.a',
  'a1.a',
  'a-1.a',
  'a--1--2--b.a',
  'a.1',
  '0.a',
  '01.a',
  '012.a',
  '1a.a',
  '1-a.a',
  '0.1',
  '1-2.3',
  '0.0.0.0',
  'a'.repeat(253),
]
const NO_SUBDOMAINS = [
  '',
  'A',
  'ABC',
  'aBc',
  '-',
  'a-',
  '-a',
  '_',
  'a_b',
  '.',
  'a.',
  '.a',
  '1.',
  '.1',
  ' ',
  'a b',
  'A.a',
  'aB.a',
  'a.A',
  '-.a',
  'a-.a',
  '-a.a',
  'a.-',
  'a.a-',
  'a.-a',
  'a..a',
  '_.a',
  'a.a_b',
  'a.b ',
  'a'.repeat(254),
]

test.each(LABELS)('%j is a label', (name) => expect(isDnsLabel(name)).toBe(true))
test.each(NO_LABELS)('%j is no label', (name) => expect(isDnsLabel(name)).toBe(false))
test.each(SUBDOMAINS)('%j is a subdomain', (name) => expect(isDnsSubdomain(name)).toBe(true))
test.each(NO_SUBDOMAINS)('%j is no subdomain', (name) => expect(isDnsSubdomain(name)).toBe(false))

describe('a path', () => {
  test('joins names', () => {
    expect(pathOf('api', 'v1', 'namespaces', 'a', 'secrets', 'b.c')).toBe('/api/v1/namespaces/a/secrets/b.c')
  })

  test.each(['', '.', '..', 'a/b', 'a\\b', '%2e%2e', 'a%2fb', 'a?b', 'a#b', 'a;b', 'a\n', '/a', 'ä', 'A'])(
    'is not built with %j in it',
    (segment) => expect(() => pathOf('api', 'v1', 'namespaces', segment, 'secrets')).toThrow(TypeError),
  )
})
