import { describe, expect, test } from 'vitest'
import { EXIT, EXIT_MEANINGS } from '../../src/kubectl/exit-codes.ts'
import { flagsOf } from '../../src/kubectl/flags.ts'
import { readPage } from './blocks.ts'

const page = await readPage('docs/kubectl.md')

/** The cells of the rows of the table under a heading. */
function rowsUnder(heading: string): readonly (readonly string[])[] {
  const [, section = ''] = page.text.split(`\n## ${heading}\n`)
  const lines = section.split('\n## ', 1)[0]?.match(/^\|.*\|$/gm) ?? []
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

describe('docs/kubectl.md', () => {
  test('has the exit codes that there are, in the words of --help', () => {
    expect(rowsUnder('Exit codes')).toEqual(EXIT_MEANINGS.map(([code, meaning]) => [String(code), meaning]))
    expect(rowsUnder('Exit codes').map(([code]) => Number(code))).toEqual(Object.values(EXIT))
  })

  test('has every form of output', () => {
    const [output] = flagsOf('mint').filter(({ name }) => name === 'output')
    const [none, ...forms] = rowsUnder('Mint').map(([form]) => form)
    expect(none).toBe('none')
    expect(forms.toSorted()).toEqual((output?.values ?? []).map((value) => `\`${value}\``).toSorted())
  })

  test('names flags that both or one of the plug-ins have, and kubectl’s own where those are used', () => {
    const ours = [...flagsOf('mint'), ...flagsOf('revoke')].map(({ name }) => `--${name}`)
    const ofKubectl = ['--name-only', '--from-literal', '--from-file', '--raw']
    const named = new Set(page.text.match(/(?<![\w-])--[a-z][a-z-]+/g))
    expect(named.size).toBeGreaterThan(10)
    for (const flag of named) expect([...ours, ...ofKubectl]).toContain(flag)
  })
})
