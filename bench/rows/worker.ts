import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import { RUNTIME } from '../../dev/bundle-worker.ts'
import { interleaved } from '../figures.ts'
import type { StartApi } from '../start-api.ts'
import { measureProcess, type Sample } from '../start-process.ts'
import { call } from '../start-scenarios.ts'
import type { Context } from './context.ts'
import { compared, figure, type Row } from './row.ts'

const ROUNDS = 25
const WORKERD: string = createRequire(import.meta.resolve('miniflare'))('workerd').default
/** What `--control-fd` tells. */
const LISTENING = /"event":"listen".*?"port":(\d+)/
const NOTHING = 'export default { fetch: () => new Response("{}") }'

/** workerd itself, from spawn: beside a worker that does nothing. */
export const worker: Row = {
  name: 'worker',
  run: async (context) => {
    const api = await context.sandbox()
    const { namespace, credential } = api
    const mint = `/apis/core.cozystack.io/v1alpha1/namespaces/${namespace}/credentials/${credential}/mint`
    const [empty, ours] = await writeConfigs(context, api)
    const samples = await interleaved(
      {
        empty: () => startWorkerd(api, empty, 'GET', '/livez'),
        first: () => startWorkerd(api, ours, 'GET', '/livez'),
        minted: () => startWorkerd(api, ours, 'POST', mint),
      },
      { rounds: context.rounds(ROUNDS) },
    )
    const wall = (name: keyof typeof samples) => samples[name].map(({ wallMs }) => wallMs)
    const cpu = (name: keyof typeof samples) => samples[name].map(({ cpuMs }) => cpuMs)
    const floor = 'workerd with an empty handler, spawn to its first response'
    return [
      compared({
        what: 'workerd, spawn to the first response',
        floor,
        ours: wall('first'),
        beside: wall('empty'),
      }),
      compared({
        what: 'the same, CPU time',
        floor,
        ours: cpu('first'),
        beside: cpu('empty'),
        unit: 'ms of CPU',
      }),
      compared({
        what: 'workerd, spawn to the first minted password',
        floor,
        ours: wall('minted'),
        beside: wall('empty'),
      }),
      compared({
        what: 'the same, CPU time',
        floor,
        ours: cpu('minted'),
        beside: cpu('empty'),
        unit: 'ms of CPU',
      }),
      {
        what: 'memory at its highest',
        ours: figure(
          samples.minted.map(({ residentMiB }) => residentMiB),
          'MiB',
        ),
      },
    ]
  },
}

async function startWorkerd(api: StartApi, config: string, method: string, path: string): Promise<Sample> {
  const args = ['serve', '--control-fd=1', config]
  const { sample } = await measureProcess({ command: WORKERD, args }, LISTENING, (port) =>
    call(api, {}, { port, method, path }),
  )
  return sample
}

/** Two configurations, of a worker that does nothing and of the one that ships. */
async function writeConfigs({ folder, dist }: Context, api: StartApi): Promise<readonly [string, string]> {
  const token = JSON.stringify(await readFile(api.plain.tokenFile, 'utf8'))
  await writeFile(join(folder, 'nothing.js'), NOTHING)
  const write = async (name: string, file: string) => {
    const path = join(folder, `${name}.capnp`)
    await writeFile(
      path,
      `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker.js", esModule = embed ${JSON.stringify(file)})],
      compatibilityDate = "${RUNTIME.compatibilityDate}",
      compatibilityFlags = ${JSON.stringify(RUNTIME.compatibilityFlags)},
      bindings = [
        (name = "KUBE", service = "kube"),
        (name = "KUBE_TOKEN", text = ${token}),
        (name = "MINTONCE_AUDIENCES", text = "mintonce"),
      ])),
    (name = "kube", external = (address = "${new URL(api.plain.url).host}", http = ())),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`,
    )
    return path
  }
  return [
    await write('nothing', 'nothing.js'),
    await write('ours', relative(folder, join(dist, 'worker.js'))),
  ]
}
