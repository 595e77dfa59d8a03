import { expect, test } from 'vitest'
import { decodeUtf8Value, joinedLinesOf, linesOf, valuesOf } from '../../src/core/headers.ts'

test('FPX-04: header fields of one name stay apart, commas and all', () => {
  const lines = linesOf([
    'X-Remote-Group',
    'cn=db,ou=x',
    'Host',
    'a',
    'x-remote-group',
    'system:authenticated',
  ])
  expect(valuesOf(lines, 'x-remote-group')).toEqual(['cn=db,ou=x', 'system:authenticated'])
  expect(lines.areJoined).toBe(false)
})

test('a name with underscores is another name', () => {
  expect(valuesOf(linesOf(['X_Remote_User', 'admin']), 'x-remote-user')).toEqual([])
})

test('what the Fetch API has joined says so', () => {
  const headers = new Headers([
    ['X-Remote-Group', 'a,b'],
    ['X-Remote-Group', 'c'],
  ])
  expect(joinedLinesOf(headers)).toEqual({ lines: [['x-remote-group', 'a,b, c']], areJoined: true })
})

test.each([
  ['jane', 'jane'],
  [Buffer.from('Jürgen Größe 数据库').toString('latin1'), 'Jürgen Größe 数据库'],
  ['', ''],
])('%j was %j on the wire', (value, text) => {
  expect(decodeUtf8Value(value)).toBe(text)
})

test.each(['J\xfcrgen', '\xc3', '\xed\xa0\x80', '数'])(
  '%j reads in two ways, or is none that Node gives',
  (value) => {
    expect(decodeUtf8Value(value)).toBeUndefined()
  },
)
