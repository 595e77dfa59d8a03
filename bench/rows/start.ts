import { join } from 'node:path'
import { interleaved, median } from '../figures.ts'
import { imageFlags } from '../image-flags.ts'
import { type Sample, timeToExit } from '../start-process.ts'
import { mintBare, type Start, serveBare, startNothing, startToMint } from '../start-scenarios.ts'
import { buildBare } from '../start-variants.ts'
import { compared, type Finding, figure, type Row, rounded, stoppedAt } from './row.ts'

const ROUNDS = 40
const GOAL = { atMost: 1.3 }

/**
 * From spawn to the first minted password: the API in memory, over HTTPS, and Node as the image starts it, for the function and for
 * what is beside it. The function serves HTTPS, as behind an APIService, or HTTP, as on Knative. `npm run bench:start` has
 * variants.
 */
export const start: Row = {
  name: 'start',
  run: async (context) => {
    const api = await context.sandbox()
    const flags = await imageFlags()
    const secure = (file: string): Start => ({ args: [...flags, file], secure: true })
    const [commonJs, module] = [
      secure(await buildBare(context.folder, 'cjs')),
      secure(await buildBare(context.folder, 'esm')),
    ]
    const dist = join(context.dist, 'node.js')
    // The account exists from here on: every mint replaces its password.
    await startToMint(api, secure(dist))
    const exits: number[] = []
    const samples = await interleaved(
      {
        nothing: startNothing,
        commonJs: () => mintBare(api, commonJs),
        servedCommonJs: () => serveBare(api, commonJs),
        module: () => mintBare(api, module),
        served: () => serveBare(api, module),
        ours: () => startToMint(api, secure(dist)),
        oursOverHttp: () => startToMint(api, { ...secure(dist), secure: 'upstream' }),
        unflagged: () => startToMint(api, { args: [dist], secure: true }),
        exit: async () => {
          const wallMs = await timeToExit(['-e', '0'])
          exits.push(wallMs)
          return { wallMs, cpuMs: Number.NaN, residentMiB: Number.NaN }
        },
      },
      { rounds: context.rounds(ROUNDS) },
    )
    return findings(samples, exits)
  },
}

type Name =
  | 'nothing'
  | 'commonJs'
  | 'servedCommonJs'
  | 'module'
  | 'served'
  | 'ours'
  | 'oursOverHttp'
  | 'unflagged'
  | 'exit'
type Samples = Readonly<Record<Name, readonly Sample[]>>

const FLOORS = [
  ['module', 'a bare `node:https` module that makes the calls and the hash'],
  ['served', 'that module as a server, over TLS'],
  ['commonJs', 'the bare script as CommonJS, which loads no Fetch API'],
  ['servedCommonJs', 'that script as a server, over TLS'],
] as const

function findings(samples: Samples, exits: readonly number[]): readonly Finding[] {
  const wall = (name: Name) => samples[name].map(({ wallMs }) => wallMs)
  const cpu = (name: Name) => samples[name].map(({ cpuMs }) => cpuMs)
  const least = median(wall('served')) / median(wall('module'))
  const goal = { ...GOAL, stoppedBy: stoppedAt(least, GOAL, 'that module as a server, over TLS') }
  const what = 'spawn to the first minted password'
  const besides = FLOORS.flatMap(([name, floor]) => [
    compared({ what, ours: wall('ours'), floor, beside: wall(name), ...(name === 'module' ? goal : {}) }),
    compared({
      what: 'the same, CPU time',
      ours: cpu('ours'),
      floor: 'the same',
      beside: cpu(name),
      unit: 'ms of CPU',
    }),
  ])
  const overHttp = `${what}, served over HTTP as on Knative`
  const [[, module]] = FLOORS
  return [
    ...besides,
    compared({ what: overHttp, ours: wall('oursOverHttp'), floor: module, beside: wall('module') }),
    compared({ what, ours: wall('ours'), floor: "without the image's flags", beside: wall('unflagged') }),
    {
      what: '`node -e 0`, spawn to exit',
      ours: figure(exits, 'ms'),
      floor: `the bare module is ${rounded(median(wall('module')) / median(exits))}× that, the script ${rounded(median(wall('commonJs')) / median(exits))}×`,
    },
    { what: 'Node alone, until it runs a script', ours: figure(wall('nothing'), 'ms') },
    {
      what: 'memory at its highest',
      ours: figure(
        samples.ours.map(({ residentMiB }) => residentMiB),
        'MiB',
      ),
    },
  ]
}
