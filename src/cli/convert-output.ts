import { type CauseName, hintOf } from '../conversion/causes.ts'
import type { Log } from '../core/deps.ts'
import type { Json } from '../core/json.ts'
import { visible } from '../core/visible.ts'
import { tableOf } from './table.ts'

/** What both parts of a conversion say: how far they are while they run, and at their end what has become of it. */
export interface ConvertOutput {
  /** Beside a bar only what is no news of a release; without one every line. */
  readonly log: Log
  readonly progress: (done: number, total: number) => void
  readonly report: (report: ConvertReport) => void
  /** One line to standard error. */
  readonly complain: (text: string) => void
}

export interface ConvertReport {
  /** For `-o json`. */
  readonly json: Json
  /** For `-o table`: a heading and rows. Left out when there is nothing to show. */
  readonly rows: readonly (readonly string[])[]
  /** Worth a look, and nothing that was left out. */
  readonly notes: readonly string[]
  readonly skipped: readonly SkippedRow[]
  /** How many, of what. It ends the run. */
  readonly summary: readonly (readonly [number, string])[]
}

interface SkippedRow {
  readonly namespace: string
  readonly release: string
  readonly cause: CauseName
  readonly message: string
}

interface OutputOptions {
  readonly format: 'table' | 'json'
  /** Whether standard error is one. */
  readonly isTerminal: boolean
  readonly log: Log
  /** To standard output. */
  readonly print: (text: string) => void
  /** To standard error, as it is. */
  readonly write: (text: string) => void
}

const CLEAR_LINE = '\r\u001b[K'
const BAR_WIDTH = 30
/** Lines that say what the bar and the report say. */
const OF_RELEASES = /^conversion_/

/** A bar at a terminal, and lines of JSON otherwise. Nothing that it is given holds a password or a stored value. */
export function createConvertOutput(options: OutputOptions): ConvertOutput {
  const { format, isTerminal, log, print, write } = options
  let bar = ''
  const above = (say: () => void) => {
    if (bar !== '') write(CLEAR_LINE)
    say()
    write(bar)
  }
  const end = () => {
    if (bar !== '') write('\n')
    bar = ''
  }
  return {
    log: (level, event, fields) => {
      if (!isTerminal) log(level, event, fields)
      else if (!OF_RELEASES.test(event)) above(() => log(level, event, fields))
    },
    progress: (done, total) => {
      if (!isTerminal) return logTenth(log, done, total)
      const drawn = barOf(done, total)
      if (drawn !== bar) write(`${CLEAR_LINE}${drawn}`)
      bar = drawn
    },
    report: ({ json, rows, notes, skipped, summary }) => {
      end()
      const counts = tableOf(summary.map(([count, what]) => [String(count), what]))
      if (format === 'json') {
        print(JSON.stringify(json, null, 2))
        write(`${counts}\n`)
      } else {
        const told = [tableOf(rows.map(visibleCells)), notes.map(visible).join('\n')]
        const parts = [...told, skippedTable(skipped), hintsOf(skipped), counts]
        print(parts.filter((part) => part !== '').join('\n\n'))
      }
    },
    complain: (text) => {
      end()
      write(`mintonce: ${text}\n`)
    },
  }
}

/** Ten lines for a fleet of any size. */
function logTenth(log: Log, done: number, total: number): void {
  const tenthOf = (count: number) => Math.floor((10 * count) / total)
  if (tenthOf(done) > tenthOf(done - 1)) log('info', 'conversion_progress', { done, total })
}

function barOf(done: number, total: number): string {
  const share = total === 0 ? 1 : done / total
  const filled = Math.floor(BAR_WIDTH * share)
  const bar = `${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}`
  return `[${bar}] ${done}/${total}`
}

/** What others have written must not write lines of its own. */
const visibleCells = (cells: readonly string[]): readonly string[] => cells.map(visible)

const skippedTable = (skipped: readonly SkippedRow[]): string =>
  skipped.length === 0
    ? ''
    : tableOf([
        ['NAMESPACE', 'RELEASE', 'SKIPPED', 'WHAT'],
        ...skipped.map(({ namespace, release, cause, message }) =>
          visibleCells([namespace, release, cause, message]),
        ),
      ])

const hintsOf = (skipped: readonly SkippedRow[]): string =>
  [...new Set(skipped.map(({ cause }) => cause))].map((cause) => `${cause}: ${hintOf(cause)}`).join('\n')
