import { expect, test } from 'vitest'
import { duplicateFields } from '../../src/core/strict-json.ts'

/** The function's contract is for text that parses: every row proves that it does. */
const duplicatesOf = (text: string): readonly string[] => {
  JSON.parse(text)
  return duplicateFields(text)
}

test.each<[what: string, text: string]>([
  ['an empty object', '{}'],
  ['one value that is no object', '"a"'],
  ['a number', '1'],
  ['the same key in sibling objects', '{"a":{"x":1},"b":{"x":1}}'],
  ['the same key in the entries of a list', '[{"x":1},{"x":1}]'],
  ['the same key above and below', '{"a":{"a":{"a":1}}}'],
  ['a value that reads like a key', '{"a":"a","b":"a"}'],
  ['a value that reads like an object', '{"a":"{\\"a\\":1,\\"a\\":2}","b":1}'],
  ['list entries that read like keys', '{"a":["a","a",["a","a"]],"b":1}'],
  ['a list after which keys go on', '{"a":[{"b":1}],"b":1}'],
  ['keys that differ in case', '{"uid":1,"UID":2}'],
  ['a key with an escaped quote at its end', '{"a\\"":1,"a":2}'],
  ['a key with an escaped backslash at its end', '{"a\\\\":1,"a":2}'],
  ['keys named like inherited properties', '{"__proto__":1,"constructor":2,"toString":3}'],
])('finds no field twice in %s', (_, text) => {
  expect(duplicatesOf(text)).toEqual([])
})

test.each<[what: string, text: string, paths: readonly string[]]>([
  ['at the top', '{"a":1,"b":2,"a":3}', ['a']],
  ['three times, named at each repetition', '{"a":1,"a":2,"a":3}', ['a', 'a']],
  ['below', '{"spec":{"preconditions":{"uid":"1","uid":"2"}}}', ['spec.preconditions.uid']],
  ['in a list entry, named by its index', '{"l":[0,{"x":1},{"x":1,"x":2}]}', ['l[2].x']],
  ['in a list of lists', '[[],[{"x":1,"x":2}]]', ['[1][0].x']],
  ['after a nested object of the same key', '{"a":{"a":1},"a":2}', ['a']],
  ['in both of two equal objects', '{"s":{"x":1,"x":2},"s":{"x":3}}', ['s.x', 's']],
  ['written once plainly and once escaped', '{"uid":1,"\\u0075id":2}', ['uid']],
  ['that is the empty text', '{"":1,"":2}', ['']],
  ['that is __proto__', '{"__proto__":1,"__proto__":2}', ['__proto__']],
  ['with white space around everything', '{ "a" :\n1 ,\t"a"\r\n: 2 }', ['a']],
])('finds a field that is given twice %s', (_, text, paths) => {
  expect(duplicatesOf(text)).toEqual(paths)
})

test('a value of a million escaped characters costs little and hides nothing', () => {
  const long = '\\"'.repeat(1_000_000)
  const startedAt = performance.now()
  expect(duplicatesOf(`{"a":"${long}","b":1,"b":2}`)).toEqual(['b'])
  expect(performance.now() - startedAt).toBeLessThan(2000)
})

test('the repetitions of a small text cannot fill the memory: the first ten are named', () => {
  const depth = 4000
  const fields = Array.from({ length: 1000 }, () => '"a":1')
  const text = `${'['.repeat(depth)}{${fields.join(',')}}${']'.repeat(depth)}`
  const duplicates = duplicatesOf(text)
  expect(duplicates).toHaveLength(10)
  expect(new Set(duplicates)).toEqual(new Set([`${'[0]'.repeat(depth)}.a`]))
})

test('each of 5,000 fields of a body is looked at', () => {
  const fields = Array.from({ length: 5000 }, (_, index) => `"f${index}":1`)
  expect(duplicatesOf(`{${fields.join(',')},"f4999":2,"f0":2}`)).toEqual(['f4999', 'f0'])
})
