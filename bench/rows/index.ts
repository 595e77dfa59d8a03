import { aggregated } from './aggregated.ts'
import { formatCosts } from './formats.ts'
import { admission, sweep } from './in-step.ts'
import { large } from './large.ts'
import { memory } from './memory.ts'
import { mint } from './mint.ts'
import { queueProxy } from './queue-proxy.ts'
import { roundTrips } from './round-trips.ts'
import type { Row } from './row.ts'
import { sizes } from './sizes.ts'
import { start } from './start.ts'
import { throughput } from './throughput.ts'
import { worker } from './worker.ts'

/** In the order in which they run. */
const rows: readonly Row[] = [
  roundTrips,
  mint,
  aggregated,
  queueProxy,
  throughput,
  start,
  worker,
  memory,
  large,
  sweep,
  admission,
  formatCosts,
  sizes,
]

/** All of them, or those that are named. Throws when one of those is none. */
export function rowsNamed(names: readonly string[] | undefined): readonly Row[] {
  if (names === undefined) return rows
  const unknown = names.find((name) => !rows.some((row) => row.name === name))
  if (unknown !== undefined)
    throw new Error(`there is no ${unknown}: ${rows.map(({ name }) => name).join(', ')}`)
  return rows.filter(({ name }) => names.includes(name))
}
