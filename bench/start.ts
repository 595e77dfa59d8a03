/**
 * A cold start: from spawn to the first response, and to the first minted password, of what ships and of what else could,
 * beside `node -e 0` and beside the same calls with nothing around them, one after the other in each round of one run:
 * `npm run bench:start`, or `npm run bench:start -- --quick` to see that it runs. Linux only. CPU time, of all threads
 * until then, says more than wall time on a machine that does something else besides.
 */
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { median, percentile, seeded, shuffled } from './figures.ts'
import { imageFlags } from './image-flags.ts'
import { type StartApi, startApi } from './start-api.ts'
import { type Sample, timeToExit } from './start-process.ts'
import { mintBare, type Start, startNothing, startToLivez, startToMint } from './start-scenarios.ts'
import { showSizes } from './start-sizes.ts'
import { buildVariants, type Variants } from './start-variants.ts'

interface Row {
  readonly name: string
  readonly run: () => Promise<Sample>
  readonly samples: Sample[]
}

interface Group {
  readonly title: string
  /** The first is what the others are compared with. */
  readonly rows: readonly Row[]
}

const DIST = join(import.meta.dirname, '../dist')

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, rounds: { type: 'string', default: '36' } },
})
const rounds = values.quick ? 2 : Number(values.rounds)

const api = await startApi()
const variants = await buildVariants()
const flags = await imageFlags()
try {
  // The account exists from here on: every mint replaces its password.
  await startToMint(api, { args: [join(DIST, 'node.js')] })
  const exits: number[] = []
  const groups = groupsOf(api, variants)
  const rows = groups.flatMap((group) => group.rows)
  const random = seeded()
  for (let round = -1; round < rounds; round += 1) {
    const exitMs = await timeToExit(['-e', '0'])
    for (const { run, samples } of shuffled(rows, random)) {
      const sample = await run()
      if (round >= 0) samples.push(sample)
    }
    if (round >= 0) exits.push(exitMs)
  }
  show(groups, exits)
  await showSizes(DIST)
} finally {
  await variants.remove()
  await api.stop()
}

function groupsOf(api: StartApi, variants: Variants): readonly Group[] {
  const livez = (name: string, start: Start) => row(name, () => startToLivez(api, start))
  const mint = (name: string, start: Start) => row(name, () => startToMint(api, start))
  const { bare, same, notMinified, imported, manyFiles, oneFile, withCommands, source, folder } = variants
  const dist = { args: [join(DIST, 'node.js')] }
  const flagged = { args: [...flags, ...dist.args] }
  const warm = { ...dist, env: { NODE_COMPILE_CACHE: join(folder, 'cache') } }
  const cold = async () => ({
    ...dist,
    env: { NODE_COMPILE_CACHE: await mkdtemp(join(folder, 'cache.')) },
  })
  return [
    {
      title: 'spawn to first response (GET /livez)',
      rows: [
        row('node, until it runs a script', startNothing),
        livez('dist/node.js, spawn to first response', dist),
        livez('  with the flags of the image', flagged),
        livez('  compile cache, warm', warm),
        row('  compile cache, cold', async () => startToLivez(api, await cold())),
        livez('  the same bundle, built again', { args: [same] }),
        livez('  not minified', { args: [notMinified] }),
        livez('  with imports of the modules of Node', { args: [imported] }),
        livez('  many files', { args: [manyFiles] }),
        livez('  one file', { args: [oneFile] }),
        livez('  built together with the commands', { args: [withCommands] }),
        livez('  HTTPS', { ...dist, secure: true }),
        livez('src/node.ts', { args: [source] }),
      ],
    },
    {
      title: 'spawn to first minted password',
      rows: [
        row('the same calls and hash, bare', () => mintBare(api, { args: [bare] })),
        mint('dist/node.js, spawn to first password', dist),
        mint('  with the flags of the image', flagged),
        mint('  compile cache, warm', warm),
        mint('  the same bundle, built again', { args: [same] }),
        mint('  not minified', { args: [notMinified] }),
        mint('  with imports of the modules of Node', { args: [imported] }),
        mint('  many files', { args: [manyFiles] }),
        mint('  one file', { args: [oneFile] }),
        mint('  built together with the commands', { args: [withCommands] }),
        mint('src/node.ts', { args: [source] }),
      ],
    },
    {
      title: 'the same over HTTPS, to the API server and from the caller',
      rows: [
        row('the same calls and hash, bare', () => mintBare(api, { args: [bare], secure: true })),
        mint('dist/node.js, spawn to first password', { ...dist, secure: true }),
        mint('  with the flags of the image', { ...flagged, secure: true }),
      ],
    },
  ]
}

function row(name: string, run: () => Promise<Sample>): Row {
  return { name, run, samples: [] }
}

function show(groups: readonly Group[], exits: readonly number[]): void {
  console.log(`${rounds} rounds; medians (5th to 95th percentile), × the first of each table`)
  console.log(`\n${'node -e 0, spawn to exit'.padEnd(44)} ${figure(exits)} ms`)
  for (const { title, rows } of groups) {
    console.log(`\n${title}`)
    for (const each of rows) console.log(line(each, rows[0] ?? each))
  }
  const resident = groups[0]?.rows[1]?.samples.map(({ residentMiB }) => residentMiB) ?? []
  const most = `${Math.max(...resident).toFixed(1)} MiB at most`
  console.log(`\n${'resident after the first response'.padEnd(44)} ${most}\n`)
}

function line({ name, samples }: Row, reference: Row): string {
  const column = (unit: 'wallMs' | 'cpuMs') => {
    const all = samples.map((sample) => sample[unit])
    const ratio = median(all) / median(reference.samples.map((sample) => sample[unit]))
    return `${figure(all)} ms × ${ratio.toFixed(2)}`
  }
  const resident = median(samples.map(({ residentMiB }) => residentMiB)).toFixed(1)
  return `${name.padEnd(44)} wall ${column('wallMs')}   CPU ${column('cpuMs')}   ${resident} MiB`
}

function figure(all: readonly number[]): string {
  const spread = `(${percentile(all, 0.05).toFixed(0)} to ${percentile(all, 0.95).toFixed(0)})`
  return `${median(all).toFixed(1).padStart(6)} ${spread.padEnd(12)}`
}
