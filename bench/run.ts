/**
 * What it costs: `npm run bench` measures all that there is, prints a table and writes bench/results.md. Everything is
 * beside the least that it could be, in the same run and in interleaved rounds. `-- --quick` does each once or twice, to
 * see that it runs, and writes nothing; `-- --only mint,sizes` does some. It fails when a row cannot run, or when
 * something that is counted is not as it must be; never by time. Linux. Needs Go, as `npm run test:cluster` does.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, resultsOf, type Section, tableOf } from './report.ts'
import { createContext } from './rows/context.ts'
import { rowsNamed } from './rows/index.ts'

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } },
})
// Each process that is started ends with this one, and there are many.
process.setMaxListeners(0)
const isWhole = values.only === undefined && !values.quick
const rows = named(values.only?.split(','))
/** Which there are, to whoever asks for another. */
function named(names: readonly string[] | undefined) {
  try {
    return rowsNamed(names)
  } catch (error) {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(2)
  }
}

const context = await createContext(values.quick)
const sections: Section[] = []
const problems: string[] = []
const startedAt = new Date()
try {
  for (const row of rows) {
    try {
      const from = performance.now()
      const findings = await row.run(context)
      sections.push({ name: row.name, findings, seconds: (performance.now() - from) / 1000 })
      problems.push(...findings.flatMap(({ wrong }) => wrong ?? []))
      console.log(`\n${row.name}\n${tableOf(findings)}`)
    } catch (error) {
      problems.push(`${row.name} cannot run: ${error instanceof Error ? error.stack : String(error)}`)
    }
  }
} finally {
  problems.push(...(await context.end()))
}
if (isWhole && problems.length === 0) {
  const file = join(import.meta.dirname, 'results.md')
  await writeFile(file, resultsOf({ startedAt, machine: await describeMachine(), sections }))
  console.log(`\nwritten to ${file}`)
}
for (const problem of problems) console.error(`bench: ${problem}`)
process.exit(problems.length === 0 ? 0 : 1)
