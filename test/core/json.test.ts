import { describe, expect, test } from 'vitest'
import { isSameJson } from '../../src/core/json.ts'

const parse = (text: string): unknown => JSON.parse(text)

describe('the same JSON', () => {
  test.each([
    ['{"a":1,"b":2}', '{"b":2,"a":1}'],
    ['{"a":{"x":[1,{"y":2,"z":3}],"w":null}}', '{"a":{"w":null,"x":[1,{"z":3,"y":2}]}}'],
    ['{"10":1,"9":2,"a":3}', '{"a":3,"9":2,"10":1}'],
    ['{"__proto__":1,"a":2}', '{"a":2,"__proto__":1}'],
    ['{"constructor":{"prototype":1}}', '{"constructor":{"prototype":1}}'],
    ['1.0', '1'],
    ['"\\u0061"', '"a"'],
    ['null', 'null'],
    ['[]', '[ ]'],
  ])('is %s and %s', (a, b) => {
    expect(isSameJson(parse(a), parse(b))).toBe(true)
  })

  test.each([
    ['{"a":1}', '{"a":1,"b":null}'],
    ['{"a":1}', '{"a":"1"}'],
    ['{"a":1}', '{"A":1}'],
    ['[1,2]', '[2,1]'],
    ['[]', '{}'],
    ['null', '{}'],
    ['null', '"null"'],
    ['false', '0'],
    ['""', '[]'],
    ['{"__proto__":{"a":1}}', '{}'],
    ['{"a":{"__proto__":1}}', '{"a":{}}'],
    ['{"a":["b"]}', '{"a":{"0":"b"}}'],
    ['"\\u00e9"', '"e\\u0301"'],
  ])('is not %s and %s', (a, b) => {
    expect(isSameJson(parse(a), parse(b))).toBe(false)
  })

  test('is not what is nothing at all, unless the other is nothing too', () => {
    expect(isSameJson(undefined, undefined)).toBe(true)
    expect(isSameJson(undefined, null)).toBe(false)
    expect(isSameJson(undefined, {})).toBe(false)
  })

  test('has no fields that are inherited', () => {
    expect(isSameJson(Object.create({ a: 1 }), {})).toBe(true)
  })
})
