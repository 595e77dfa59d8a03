/**
 * What it costs to convert a fleet, 1,000 releases with 5 accounts each, in memory and on a real kube-apiserver, beside the
 * same calls with nothing between them: `npm run bench:convert`, or `npm run bench:convert -- --quick` to see that it
 * runs; `-- --rounds 1` for fewer. Each run is a process of its own, over a fleet of its own. Needs Go, as `npm run test:cluster` does.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { build } from 'esbuild'
import { inTurns } from '../src/core/in-turns.ts'
import type { ApplicationDefinition } from '../src/k8s/objects.ts'
import type { ApiServer } from '../test/contract/backends/api-server.ts'
import { exampleDefinitions } from '../test/contract/backends/manifests.ts'
import { startRealApiServer } from '../test/contract/backends/real-api-server.ts'
import { startSandboxApiServer } from '../test/contract/backends/sandbox-api-server.ts'
import { adminOf } from '../test/contract/kube.ts'
import { releaseOf } from '../test/contract/tenant.ts'
import { allowRecord } from '../test/helpers/record-rights.ts'
import type { ConvertSample, ConvertTask } from './convert-process.ts'
import { median, seeded, shuffled } from './figures.ts'

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, rounds: { type: 'string', default: '3' } },
})
const RELEASES = values.quick ? 20 : 1000
const ROUNDS = values.quick ? 1 : Number(values.rounds)
/** Whose format is the most expensive of the four engines: 4,096 rounds of PBKDF2 an account. */
const KIND = 'Postgres'
const CONCURRENCY = 8
const AT_ONCE = 16
const USERS = ['a', 'b', 'c', 'd', 'e']
const NAMES = { raw: 'the same calls', hook: 'mintonce', again: 'mintonce, run again' } as const
type Name = keyof typeof NAMES

const folder = await mkdtemp(join(tmpdir(), 'mintonce-convert.'))
const program = join(folder, 'convert.mjs')
await build({
  entryPoints: [join(import.meta.dirname, 'convert-process.ts')],
  outfile: program,
  bundle: true,
  format: 'esm',
  platform: 'node',
  minify: true,
})
try {
  await measure('the API in memory', await startSandboxApiServer())
  await measure('kube-apiserver', await startRealApiServer())
} finally {
  await rm(folder, { recursive: true })
}

async function measure(name: string, api: ApiServer): Promise<void> {
  try {
    const samples: Record<Name, ConvertSample[]> = { raw: [], hook: [], again: [] }
    const random = seeded()
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const does of shuffled(['raw', 'hook'] as const, random)) {
        const namespace = `fleet-${round}-${does}`
        await createFleet(api, namespace)
        samples[does].push(await run(api, namespace, does))
        if (does === 'hook') samples.again.push(await run(api, namespace, does))
      }
    }
    const load = `load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} CPUs`
    const fleet = `${RELEASES} releases of ${KIND} with ${USERS.length} accounts each, ${CONCURRENCY} at a time`
    console.log(`\nconvert hook over ${fleet}, ${name}, ${ROUNDS} rounds, ${load}`)
    for (const each of Object.keys(NAMES) as Name[]) console.log(line(each, samples[each], samples.raw))
    // Anything else would be a figure about something else.
    const wrong = Object.values(samples)
      .flat()
      .find(({ converted }) => converted !== RELEASES * USERS.length)
    if (wrong !== undefined) throw new Error(JSON.stringify(wrong))
  } finally {
    await api.stop()
  }
}

async function run(api: ApiServer, namespace: string, does: ConvertTask['does']): Promise<ConvertSample> {
  const { url, caFile = '', tokenFile } = await api.forProcess()
  const task: ConvertTask = {
    does,
    namespace,
    platformNamespace: namespace,
    definition: { file: 'postgres.yaml', definition: definitionOf(KIND) },
    users: USERS,
    concurrency: CONCURRENCY,
  }
  const env = { KUBE_URL: url, CA_FILE: caFile, TOKEN_FILE: tokenFile, TASK: JSON.stringify(task) }
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env })
  return JSON.parse(stdout)
}

function definitionOf(kind: string): ApplicationDefinition {
  const found = exampleDefinitions().find((each) => Reflect.get(each, 'metadata').name === kind.toLowerCase())
  return found as ApplicationDefinition
}

function line(name: Name, samples: readonly ConvertSample[], floor: readonly ConvertSample[]): string {
  const column = (unit: 'ms' | 'cpuMs' | 'residentMiB') => {
    const all = samples.map((sample) => sample[unit])
    const ratio = median(all) / median(floor.map((sample) => sample[unit]))
    const spread = `${Math.min(...all).toFixed(0)} to ${Math.max(...all).toFixed(0)}`
    return `${median(all).toFixed(0)} (${spread}) × ${ratio.toFixed(2)}`
  }
  const calls = `${samples[0]?.calls} calls`
  return `${NAMES[name].padEnd(20)} ${calls}   ms ${column('ms')}   CPU ms ${column('cpuMs')}   MiB ${column('residentMiB')}`
}

/** As they are before a conversion, and what the function's account may not do by itself. */
async function createFleet(api: ApiServer, namespace: string): Promise<void> {
  const admin = adminOf(api.admin)
  await admin.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  })
  await allowRecord(adminOf(api.admin), namespace)
  const users = Object.fromEntries(USERS.map((user) => [user, {}]))
  const data = Object.fromEntries(USERS.map((user) => [user, btoa(`password-of-${user}`)]))
  const names = Array.from({ length: RELEASES }, (_, index) => `r${index}`)
  await inTurns(names, AT_ONCE, async (name) => {
    const path = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases`
    const { metadata } = await admin.create(path, releaseOf(KIND, name, { users }))
    const credentials = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${metadata.name}-credentials` },
      data,
    }
    await admin.create(`/api/v1/namespaces/${namespace}/secrets`, credentials)
  })
}
