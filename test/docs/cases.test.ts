import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const TEST = join(import.meta.dirname, '..')
const ID = /^[A-Z]{2,4}-\d\d$/

const document = await readFile(join(TEST, 'cases.md'), 'utf8')
const sections = document.split(/^## /m).slice(1)
/** The rows of a section's table whose first cell is the id of a case. */
const rowsOf = (title: string): readonly (readonly string[])[] =>
  (sections.find((section) => section.startsWith(title)) ?? '')
    .split('\n')
    .map((line) =>
      line
        .split('|')
        .map((cell) => cell.trim())
        .slice(1, -1),
    )
    .filter(([id = '']) => ID.test(id))

const excluded = rowsOf('Not applicable')
const tested = sections
  .filter((section) => !section.startsWith('Not applicable'))
  .flatMap((section) => rowsOf(section.split('\n')[0] ?? ''))

test('every case is listed once, as a test or with the reason why there is none', () => {
  const ids = [...excluded, ...tested].map(([id]) => id)
  expect(ids).toHaveLength(91)
  expect(new Set(ids).size).toBe(91)
  for (const [id, reason = ''] of excluded) expect(`${id} ${reason}`.length).toBeGreaterThan(30)
})

test.each(tested.map(([id = '', files = '']) => [id, files]))('%s is named in %s', async (id, files) => {
  const names = [...files.matchAll(/[\w./-]+\.ts/g)].map(([name]) => name)
  expect(names.length).toBeGreaterThan(0)
  for (const name of names) {
    const path = name.startsWith('test/') ? join(TEST, '..', name) : join(TEST, name)
    expect(await readFile(path, 'utf8'), name).toContain(id)
  }
})
