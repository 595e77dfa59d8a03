import { existsSync, rmSync } from 'node:fs'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { succeed } from '../control-plane/command.ts'
import { onProcessEnd } from '../control-plane/daemon.ts'

/** Where the engines' programs are. */
export interface Programs {
  readonly initdb: string
  readonly pgCtl: string
  readonly postgres: string
  readonly psql: string
  readonly mariadb: string
  readonly mariadbd: string
  readonly mariadbInstallDb: string
  readonly clickhouseClient: string
  readonly clickhouseServer: string
  readonly redisCli: string
  readonly redisServer: string
  readonly nginx: string
  readonly curl: string
  readonly natsServer: string
  readonly rabbitmqServer: string
  readonly epmd: string
  readonly amqpDeclareQueue: string
}

/** A program's name and the Debian package that has it. MariaDB's core packages come without a service. */
const WANTED: Readonly<Record<keyof Programs, readonly [program: string, debianPackage: string]>> = {
  initdb: ['initdb', 'postgresql'],
  pgCtl: ['pg_ctl', 'postgresql'],
  postgres: ['postgres', 'postgresql'],
  psql: ['psql', 'postgresql-client'],
  mariadb: ['mariadb', 'mariadb-client-core'],
  mariadbd: ['mariadbd', 'mariadb-server-core'],
  mariadbInstallDb: ['mariadb-install-db', 'mariadb-server-core'],
  clickhouseClient: ['clickhouse-client', 'clickhouse-client'],
  clickhouseServer: ['clickhouse-server', 'clickhouse-server'],
  redisCli: ['redis-cli', 'redis-tools'],
  redisServer: ['redis-server', 'redis-server'],
  nginx: ['nginx', 'nginx'],
  curl: ['curl', 'curl'],
  natsServer: ['nats-server', 'nats-server'],
  rabbitmqServer: ['rabbitmq-server', 'rabbitmq-server'],
  epmd: ['epmd', 'erlang-base'],
  amqpDeclareQueue: ['amqp-declare-queue', 'amqp-tools'],
}

/** Finds every engine's programs, after installing from Debian what is missing. */
export async function installEngines(): Promise<Programs> {
  const before = await find()
  if (isComplete(before)) return before
  await install(packagesOf(before))
  const after = await find()
  if (isComplete(after)) return after
  throw new Error(`installed, and yet nowhere to be found: ${missing(after).join(', ')}`)
}

type Found = { readonly [name in keyof Programs]: string | undefined }

const NAMES = Object.keys(WANTED) as readonly (keyof Programs)[]

async function find(): Promise<Found> {
  const folders = await programFolders()
  const entries = NAMES.map((name) => {
    const paths = folders.map((folder) => join(folder, WANTED[name][0]))
    return [name, paths.find((path) => existsSync(path))] as const
  })
  return Object.fromEntries(entries) as Found
}

/**
 * Debian keeps PostgreSQL's server off the path, a folder a version; servers are in `sbin`. The newest comes first.
 * RabbitMQ's program on the path runs as root or its own user only, and is another than the server.
 */
async function programFolders(): Promise<readonly string[]> {
  const root = '/usr/lib/postgresql'
  const versions = await readdir(root).catch(() => [])
  const newestFirst = versions.toSorted((a, b) => Number(b) - Number(a))
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const versioned = newestFirst.map((version) => join(root, version, 'bin'))
  return [...versioned, '/usr/lib/rabbitmq/bin', ...path, '/usr/sbin', '/usr/bin']
}

const missing = (found: Found): readonly (keyof Programs)[] =>
  NAMES.filter((name) => found[name] === undefined)

const isComplete = (found: Found): found is Programs => missing(found).length === 0

const packagesOf = (found: Found): readonly string[] => [
  ...new Set(missing(found).map((name) => WANTED[name][1])),
]

async function install(packages: readonly string[]): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error(`as root: apt-get install ${packages.join(' ')}`)
  const env = { DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_SUSPEND: '1' }
  const options = ['-o', 'DPkg::Lock::Timeout=300', '-qq', '-y']
  await withoutServices(async () => {
    await succeed('apt-get', [...options, 'update'], { env })
    await succeed('apt-get', [...options, 'install', '--no-install-recommends', ...packages], { env })
  })
}

const POLICY = '/usr/sbin/policy-rc.d'

/**
 * While `work` runs, no package starts, stops or restarts a service: `invoke-rc.d` asks this program, and 101 says no
 * (Debian's README.policy-rc.d). A policy that the machine already has stays as it is, and is asked instead.
 */
async function withoutServices(work: () => Promise<void>): Promise<void> {
  const created = await writeFile(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755, flag: 'wx' }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false
      throw error
    },
  )
  if (!created) return work()
  const forget = onProcessEnd(() => rmSync(POLICY, { force: true }))
  try {
    await work()
  } finally {
    await rm(POLICY, { force: true })
    forget()
  }
}
