import { expect, test } from 'vitest'
import { mysqlNative } from '../../src/formats/mysql-native.ts'

const value = '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19'

test('VER-05: a star and 40 upper-case digits match', () => {
  expect(mysqlNative.canonical.test(value)).toBe(true)
})

test.each([
  ['nothing, which MariaDB takes for "no password"', ''],
  ['lower case', value.toLowerCase()],
  ['no star', value.slice(1)],
  ['a leading space', ` ${value}`],
  ['a trailing line break', `${value}\n`],
  ['a digit less', value.slice(0, -1)],
  ['a digit more', `${value}0`],
  ['another letter', value.replace('E', 'G')],
  ['16 digits, the hash of MariaDB’s old plug-in', '5d2e19393cc5ef67'],
])('VER-05: %s does not match', (_, nearMiss) => {
  expect(mysqlNative.canonical.test(nearMiss)).toBe(false)
})
