import { join } from 'node:path'
import { interleaved, median } from '../figures.ts'
import { type Sample, timeToExit } from '../start-process.ts'
import { mintBare, type Start, serveBare, startNothing, startToMint } from '../start-scenarios.ts'
import { buildBare } from '../start-variants.ts'
import { compared, type Finding, figure, type Row, rounded, stoppedAt } from './row.ts'

const ROUNDS = 40
const GOAL = { atMost: 1.3 }

/** From spawn to the first minted password: the API in memory, HTTPS on both sides. `npm run bench:start` has variants. */
export const start: Row = {
  name: 'start',
  run: async (context) => {
    const api = await context.sandbox()
    const secure = (file: string): Start => ({ args: [file], secure: true })
    const [commonJs, module] = [
      await buildBare(context.folder, 'cjs'),
      await buildBare(context.folder, 'esm'),
    ]
    const dist = secure(join(context.dist, 'node.js'))
    // The account exists from here on: every mint replaces its password.
    await startToMint(api, dist)
    const exits: number[] = []
    const samples = await interleaved(
      {
        nothing: startNothing,
        commonJs: () => mintBare(api, secure(commonJs)),
        module: () => mintBare(api, secure(module)),
        served: () => serveBare(api, secure(module)),
        ours: () => startToMint(api, dist),
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

type Samples = Readonly<
  Record<'nothing' | 'commonJs' | 'module' | 'served' | 'ours' | 'exit', readonly Sample[]>
>

function findings(samples: Samples, exits: readonly number[]): readonly Finding[] {
  const wall = (name: keyof Samples) => samples[name].map(({ wallMs }) => wallMs)
  const cpu = (name: keyof Samples) => samples[name].map(({ cpuMs }) => cpuMs)
  const what = 'spawn to the first minted password'
  const ours = { what, ours: wall('ours') }
  const onCpu = { what: 'the same, CPU time', ours: cpu('ours'), unit: 'ms of CPU' as const }
  const bare = median(wall('module')) / median(exits)
  const served = median(wall('served')) / median(wall('module'))
  return [
    compared({
      ...ours,
      floor: 'a bare `node:https` module that makes the calls and the hash',
      beside: wall('module'),
      ...GOAL,
      stoppedBy: stoppedAt(served, GOAL, 'a bare module that listens as well, over TLS'),
    }),
    compared({ ...onCpu, floor: 'the same module', beside: cpu('module') }),
    compared({ ...ours, floor: 'that module as a server', beside: wall('served') }),
    compared({ ...onCpu, floor: 'that module as a server', beside: cpu('served') }),
    compared({ ...ours, floor: 'the bare script as CommonJS', beside: wall('commonJs') }),
    {
      what: '`node -e 0`, spawn to exit',
      ours: figure(exits, 'ms'),
      floor: `the bare module is ${rounded(bare)}× that`,
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
