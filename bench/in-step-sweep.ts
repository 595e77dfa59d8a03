import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { inTurns } from '../src/core/in-turns.ts'
import type { ApiServer } from '../test/contract/backends/api-server.ts'
import { adminOf } from '../test/contract/kube.ts'
import { landed } from '../test/contract/syncing.ts'
import { releaseOf } from '../test/contract/tenant.ts'
import { onProcessEnd } from '../test/control-plane/daemon.ts'
import { interleaved, median } from './figures.ts'
import type { SweepSample } from './sweep-process.ts'

const NAMESPACE = 'tenant-many'
const USERS = ['a', 'b', 'c', 'd', 'e']
const AT_ONCE = 16
/** RFC 7677, section 3: of the password `pencil`. */
const STORED =
  'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU='

const TASKS = {
  list: 'the same lists, raw, each page dropped',
  keep: 'the same lists, raw, all kept',
  sweep: 'mintonce',
}

interface Sweeps {
  readonly releases: number
  readonly rounds: number
}

type Samples = Readonly<Record<keyof typeof TASKS, readonly SweepSample[]>>

/** Sweeps over as many releases with nothing to do, each in a process of its own, beside one that lists the same. */
export async function sweeps(name: string, api: ApiServer, how: Sweeps): Promise<void> {
  const samples = await sweepSamples(api, how)
  console.log(`\na sweep over ${how.releases} releases with ${USERS.length} accounts each, ${name}`)
  for (const task of ['list', 'keep', 'sweep'] as const) {
    console.log(line(TASKS[task], samples[task], samples.list))
  }
}

/** The same, for whoever shows it in another way. Throws when a sweep has seen something else, or written. */
export async function sweepSamples(api: ApiServer, { releases, rounds }: Sweeps): Promise<Samples> {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-sweep.'))
  const forget = onProcessEnd(() => rmSync(folder, { recursive: true, force: true }))
  try {
    const program = join(folder, 'sweep.mjs')
    const entryPoints = [join(import.meta.dirname, 'sweep-process.ts')]
    await build({
      entryPoints,
      outfile: program,
      bundle: true,
      format: 'esm',
      platform: 'node',
      minify: true,
    })
    await createMany(api, releases)
    const { url, caFile = '', tokenFile } = await api.forProcess()
    const run = async (TASK: string): Promise<SweepSample> => {
      const env = { KUBE_URL: url, CA_FILE: caFile, TOKEN_FILE: tokenFile, TASK }
      const { stdout } = await promisify(execFile)(process.execPath, [program], { env })
      return JSON.parse(stdout)
    }
    const samples = await interleaved(
      { list: () => run('list'), keep: () => run('keep'), sweep: () => run('sweep') },
      { rounds },
    )
    // Anything else would be a figure about something else.
    const listed = samples.list.every(({ items }) => items === releases * (1 + USERS.length))
    if (!listed) throw new Error(`listed ${samples.list.map(({ items }) => items)}`)
    for (const { report } of samples.sweep)
      if (report?.releases !== releases || report.synced > 0) throw new Error(JSON.stringify(report))
    return samples
  } finally {
    await rm(folder, { recursive: true })
    forget()
  }
}

function line(name: string, samples: readonly SweepSample[], floor: readonly SweepSample[]): string {
  const column = (unit: 'ms' | 'cpuMs' | 'residentMiB', digits: number) => {
    const all = samples.map((sample) => sample[unit])
    const ratio = median(all) / median(floor.map((sample) => sample[unit]))
    const spread = `${Math.min(...all).toFixed(digits)} to ${Math.max(...all).toFixed(digits)}`
    return `${median(all).toFixed(digits)} (${spread}) × ${ratio.toFixed(2)}`
  }
  const calls = `${samples[0]?.calls} calls`
  return `${name.padEnd(36)} ${calls}   ms ${column('ms', 0)}   CPU ms ${column('cpuMs', 0)}   MiB ${column('residentMiB', 1)}`
}

/** As they are when Flux has applied all and all has been adopted. */
async function createMany(api: ApiServer, releases: number): Promise<void> {
  const admin = adminOf(api.admin)
  await admin.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: NAMESPACE },
  })
  const values = { users: Object.fromEntries(USERS.map((user) => [user, {}])) }
  const names = Array.from({ length: releases }, (_, index) => `r${index}`)
  await inTurns(names, AT_ONCE, async (name) => {
    const path = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${NAMESPACE}/helmreleases`
    const { metadata } = await admin.create(path, releaseOf('Postgres', name, values))
    await admin.change(`${path}/${metadata.name}/status`, (release) => {
      release.status = landed(release)
    })
    for (const user of USERS) {
      await admin.create(`/api/v1/namespaces/${NAMESPACE}/secrets`, secretOf(metadata, name, user))
    }
  })
}

/** An account Secret as an adoption leaves it. */
export const secretOf = (
  release: { readonly name: string; readonly uid: string },
  name: string,
  user: string,
) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'kubernetes.io/basic-auth',
  metadata: {
    name: `${release.name}.${user}.account`,
    labels: {
      'apps.cozystack.io/application.group': 'apps.cozystack.io',
      'apps.cozystack.io/application.kind': 'Postgres',
      'apps.cozystack.io/application.name': name,
      'credentials.cozystack.io/account': 'true',
    },
    annotations: {
      'credentials.cozystack.io/origin': 'Minted',
      'credentials.cozystack.io/history':
        '[{"operation":"Mint","at":"2026-10-01T08:00:00Z","by":"jane@example.org"}]',
      'credentials.cozystack.io/release-uid': release.uid,
    },
    ownerReferences: [
      {
        apiVersion: 'helm.toolkit.fluxcd.io/v2',
        kind: 'HelmRelease',
        name: release.name,
        uid: release.uid,
        controller: false,
        blockOwnerDeletion: false,
      },
    ],
  },
  data: { username: btoa(user), password: btoa(STORED) },
})
