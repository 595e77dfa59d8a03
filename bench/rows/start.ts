import { join } from 'node:path'
import { interleaved, median } from '../figures.ts'
import { imageFlags } from '../image-flags.ts'
import { type Sample, timeToExit } from '../start-process.ts'
import { mintBare, type Start, serveBare, startNothing, startToMint } from '../start-scenarios.ts'
import { buildBare, buildBareWith } from '../start-variants.ts'
import { compared, type Finding, figure, type Row, rounded, stoppedAt } from './row.ts'

const ROUNDS = 40
const GOAL = { atMost: 1.3 }

/**
 * From spawn to the first minted password: the API in memory, HTTPS on both sides, and Node as the image starts it, for
 * the function and for what is beside it. `npm run bench:start` has variants.
 */
export const start: Row = {
  name: 'start',
  run: async (context) => {
    const api = await context.sandbox()
    const flags = await imageFlags()
    const secure = (file: string): Start => ({ args: [...flags, file], secure: true })
    const [commonJs, module, libraries, loaded] = [
      secure(await buildBare(context.folder, 'cjs')),
      secure(await buildBare(context.folder, 'esm')),
      secure(await buildBareWith(context.folder, 'libraries')),
      secure(await buildBareWith(context.folder, 'loaded')),
    ]
    const dist = join(context.dist, 'node.js')
    // The account exists from here on: every mint replaces its password.
    await startToMint(api, secure(dist))
    const exits: number[] = []
    const samples = await interleaved(
      {
        nothing: startNothing,
        commonJs: () => mintBare(api, commonJs),
        module: () => mintBare(api, module),
        served: () => serveBare(api, module),
        libraries: () => serveBare(api, libraries),
        loaded: () => serveBare(api, loaded),
        ours: () => startToMint(api, secure(dist)),
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
  | 'module'
  | 'served'
  | 'libraries'
  | 'loaded'
  | 'ours'
  | 'unflagged'
  | 'exit'
type Samples = Readonly<Record<Name, readonly Sample[]>>

/** What the function adds to the one before it. */
const FLOORS = [
  ['module', 'a bare `node:https` module that makes the calls and the hash'],
  ['served', 'that module as a server, over TLS'],
  ['libraries', 'that server, with the libraries loaded (hono, jose, noble), and none used'],
  ['loaded', 'that server, with all loaded that a start of the function loads, and none of it run'],
] as const

function findings(samples: Samples, exits: readonly number[]): readonly Finding[] {
  const wall = (name: Name) => samples[name].map(({ wallMs }) => wallMs)
  const cpu = (name: Name) => samples[name].map(({ cpuMs }) => cpuMs)
  const what = 'spawn to the first minted password'
  const besides = FLOORS.flatMap(([name, floor], index) => [
    compared({
      what,
      ours: wall('ours'),
      floor,
      beside: wall(name),
      ...(index === 0 ? { ...GOAL, stoppedBy: stoppedBy(wall) } : {}),
    }),
    compared({
      what: 'the same, CPU time',
      ours: cpu('ours'),
      floor: 'the same',
      beside: cpu(name),
      unit: 'ms of CPU',
    }),
  ])
  return [
    ...besides,
    compared({ what, ours: wall('ours'), floor: 'the bare script as CommonJS', beside: wall('commonJs') }),
    compared({ what, ours: wall('ours'), floor: "without the image's flags", beside: wall('unflagged') }),
    {
      what: '`node -e 0`, spawn to exit',
      ours: figure(exits, 'ms'),
      floor: `the bare module is ${rounded(median(wall('module')) / median(exits))}× that`,
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

/** The libraries are a floor. That as much code as ours is loaded is none, but says what can be won by what runs. */
function stoppedBy(wall: (name: Name) => readonly number[]): string {
  const least = (name: Name) => median(wall(name)) / median(wall('module'))
  const because = `as a server ${least('served').toFixed(2)}×, and with the libraries loaded`
  const loaded = `${least('loaded').toFixed(2)}× once its code is loaded and nothing of it has run`
  return `${stoppedAt(least('libraries'), GOAL, because)}: ${loaded}`
}
