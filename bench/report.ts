import { readFile } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import type { Finding } from './rows/row.ts'

export interface Section {
  readonly name: string
  readonly findings: readonly Finding[]
  readonly seconds: number
}

export interface Results {
  readonly startedAt: Date
  readonly machine: readonly string[]
  readonly sections: readonly Section[]
}

const HEAD = ['what', 'measured', 'the least', 'measured', '×', 'goal', 'met', 'rounds']
const GO_MODULES = join(import.meta.dirname, '../test/control-plane/go.mod')

/** As Markdown, which is also what a terminal shows. */
export function tableOf(findings: readonly Finding[]): string {
  const lines = findings.map((each) => [
    each.what,
    each.ours,
    each.floor ?? '',
    each.beside ?? '',
    each.ratio ?? '',
    each.goal ?? 'reported',
    metOf(each),
    each.rounds === undefined ? '' : String(each.rounds),
  ])
  const rows = [HEAD, HEAD.map(() => '---'), ...lines]
  return rows.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n')
}

function metOf({ isMet, stoppedBy }: Finding): string {
  if (isMet === undefined) return ''
  if (isMet) return 'yes'
  return stoppedBy === undefined ? 'no' : `no: ${stoppedBy}`
}

/** What the figures are of. */
export async function describeMachine(): Promise<readonly string[]> {
  const [cpu] = cpus()
  const modules = await readFile(GO_MODULES, 'utf8')
  const versionOf = (module: string) => modules.match(new RegExp(`${module} (v\\S+)`))?.[1] ?? 'unknown'
  const load = loadavg().map((each) => each.toFixed(1))
  return [
    `CPU: ${availableParallelism()} × ${cpu?.model.trim()}`,
    `memory: ${(totalmem() / 2 ** 30).toFixed(1)} GiB`,
    `system: ${type()} ${release()}; load after the run ${load.join(', ')} (1, 5, 15 minutes)`,
    `Node ${process.versions.node}, kube-apiserver ${versionOf('k8s.io/kubernetes')}, etcd ${versionOf('go.etcd.io/etcd/server/v3')} without fsync`,
    'everything, the API server and who calls, on this one machine',
  ]
}

/** bench/results.md. */
export function resultsOf({ startedAt, machine, sections }: Results): string {
  const all = sections.flatMap(({ findings }) => findings)
  const goals = all.filter(({ isMet }) => isMet !== undefined)
  const met = goals.filter(({ isMet }) => isMet)
  return [
    '# What it costs',
    '',
    'Written by `npm run bench`; docs/performance.md says what it means. Medians, and between which values the middle half of the',
    'rounds is; × is the ratio of the medians, and in parentheses the same of the ratios of each round.',
    '',
    `- ${startedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`,
    ...machine.map((line) => `- ${line}`),
    `- ${met.length} of ${goals.length} goals met`,
    ...sections.flatMap(({ name, findings, seconds }) => [
      '',
      `## ${name}`,
      '',
      `\`npm run bench -- --only ${name}\`, ${seconds.toFixed(0)} s.`,
      '',
      tableOf(findings),
    ]),
    '',
  ].join('\n')
}
