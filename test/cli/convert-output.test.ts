import { describe, expect, test } from 'vitest'
import { createConvertOutput } from '../../src/cli/convert-output.ts'

const CLEAR = '\r\u001b[K'

function output(isTerminal: boolean, format: 'table' | 'json' = 'table') {
  const written: string[] = []
  const printed: string[] = []
  const made = createConvertOutput({
    format,
    isTerminal,
    log: (level, event, fields) => void written.push(`${level} ${event} ${JSON.stringify(fields)}\n`),
    print: (text) => void printed.push(text),
    write: (text) => void written.push(text),
  })
  return { ...made, printed, written }
}

const REPORT = {
  json: { part: 'hook' },
  rows: [],
  notes: [],
  skipped: [],
  summary: [[1, 'releases']],
} as const

describe('at a terminal', () => {
  test('a bar grows on one line, and is gone before the report', () => {
    const { progress, report, written, printed } = output(true)
    progress(1, 3)
    progress(3, 3)
    report(REPORT)
    expect(written).toEqual([
      `${CLEAR}[##########....................] 1/3`,
      `${CLEAR}[##############################] 3/3`,
      '\n',
    ])
    expect(printed).toEqual(['1   releases'])
  })

  test('lines about releases are left to the report, and others go above the bar', () => {
    const { log, progress, written } = output(true)
    progress(1, 2)
    log('info', 'conversion_release', {})
    log('warn', 'event_lost', {})
    expect(written.slice(1)).toEqual([CLEAR, 'warn event_lost {}\n', '[###############...............] 1/2'])
  })

  test('a fleet of nothing has a bar too', () => {
    const { progress, written } = output(true)
    progress(0, 0)
    expect(written.join('')).toContain('0/0')
  })
})

describe('elsewhere', () => {
  test('every line is one of JSON, and progress at most ten of them', () => {
    const { log, progress, written } = output(false)
    for (let done = 1; done <= 1000; done += 1) progress(done, 1000)
    log('info', 'conversion_release', { release: 'a' })
    expect(written).toHaveLength(11)
    expect(written[0]).toBe('info conversion_progress {"done":100,"total":1000}\n')
    expect(written.at(-1)).toBe('info conversion_release {"release":"a"}\n')
  })

  test('what others have written writes no line of its own', () => {
    const { report, printed } = output(false)
    const release = 'postgres-orders'
    const message = 'user "\u001b[2K\nweb": x'
    report({
      ...REPORT,
      skipped: [{ namespace: 'tenant-acme', release, cause: 'PasswordMissing', message }],
      notes: ['a\r\nb'],
    })
    expect(printed.join()).toContain('user "\ufffd[2K web": x')
    expect(printed.join()).toMatch(/^a b\n/)
  })
})
