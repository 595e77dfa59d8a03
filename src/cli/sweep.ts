import type { Failure } from '../core/failure.ts'
import type { SweepReport } from '../credentials/sweep.ts'
import { type Swept, sweepOnce } from '../handlers/sweep-once.ts'
import type { AnchorSweepReport } from '../trust-anchor/sweep.ts'
import { tableOf } from './table.ts'

interface SweepCommandOptions {
  readonly print: (text: string) => void
  readonly complain: (text: string) => void
  /** A table for a person, or one line of JSON for whoever collects lines. */
  readonly isTerminal: boolean
  /** It goes by what the kubelet mounts into a pod, and not by a kubeconfig. */
  readonly isPod: boolean
  readonly signal?: AbortSignal
}

/** One sweep, its Events included. Answers whether all went well. */
export async function runSweep(
  services: Parameters<typeof sweepOnce>[0],
  { print, complain, isTerminal, isPod, ...options }: SweepCommandOptions,
): Promise<boolean> {
  const later: Promise<unknown>[] = []
  const swept = await sweepOnce(services, { later: (work) => void later.push(work()), ...options })
  await Promise.all(later)
  if (!swept.ok) {
    complain(`the sweep failed: ${wordsOf(swept.failure)}`)
    if (isPod && swept.failure.reason === 'kube_unreachable') complain(OUTSIDE)
    return false
  }
  print(isTerminal ? tableOfReport(swept.value) : JSON.stringify(swept.value))
  const failures = swept.value.sweep.failures + (swept.value.anchors?.failures ?? 0)
  if (failures > 0) complain(`${failures} could not be dealt with: the lines above say which, and why`)
  return failures === 0
}

const OUTSIDE =
  'outside a pod of the cluster, name the cluster with --kubeconfig: mintonce sweep --kubeconfig'

const ROWS: readonly (readonly [keyof SweepReport, string])[] = [
  ['releases', 'releases of kinds with minted credentials'],
  ['synced', 'of them needed something'],
  ['created', 'Secrets created'],
  ['adopted', 'adopted by their release'],
  ['marked', 'marked as undeclared'],
  ['deleted', 'deleted, having been undeclared for long enough'],
  ['orphansDeleted', 'deleted, their release being gone'],
  ['warnings', 'warnings: see the Events'],
  ['failures', 'failures'],
]

const ANCHOR_ROWS: readonly (readonly [keyof AnchorSweepReport, string])[] = [
  ['declarations', 'declarations of a CA'],
  ['ready', 'of them published'],
  ['written', 'that needed a write'],
  ['failures', 'failures with these'],
]

function tableOfReport({ sweep, anchors }: Swept): string {
  const rows = ROWS.map(([field, what]) => [String(sweep[field]), what])
  const more = anchors && ANCHOR_ROWS.map(([field, what]) => [String(anchors[field]), what])
  return tableOf([...rows, ...(more ?? [])])
}

/** A failure for a person at a terminal: its reason, and what was called. */
export function wordsOf(failure: Failure): string {
  const call = 'call' in failure ? ` (${failure.call})` : ''
  const group = 'groupVersion' in failure ? ` (${failure.groupVersion})` : ''
  return `${failure.reason}${call}${group}`
}
