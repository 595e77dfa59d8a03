import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { command } from '../control-plane/command.ts'
import { startDaemon } from '../control-plane/daemon.ts'
import { freePorts } from '../control-plane/ports.ts'
import type { Engine } from './engine.ts'
import { installEngines } from './install.ts'
import { inPlace, type Place } from './place.ts'
import { rabbitmqSha256 } from './verifiers.ts'

const ADMIN = 'admin'

/** RabbitMQ. Users come by the import of definitions: its administrator's at the start, the others' over HTTP. */
export async function startRabbitmq(): Promise<Engine> {
  const { epmd } = await installEngines()
  const [epmdPort = 0] = await freePorts(1)
  return inPlace('rabbitmq', async (place) => {
    // Erlang's port mapper: the server would start one by itself and leave it behind.
    const args = ['ERL_EPMD_ADDRESS=127.0.0.1', epmd, '-port', String(epmdPort)]
    const mapper = await startDaemon('epmd', 'env', args, join(place.folder, 'epmd.log'))
    try {
      const engine = await startServer(place, epmdPort)
      const stop = async () => {
        await engine.stop()
        await mapper.end()
      }
      return { ...engine, stop }
    } catch (error) {
      await mapper.end()
      throw error
    }
  })
}

async function startServer(place: Place, epmdPort: number): Promise<Engine> {
  const { rabbitmqServer, amqpDeclareQueue } = await installEngines()
  const [port = 0, httpPort = 0, nodePort = 0] = await freePorts(3)
  const adminPassword = randomBytes(16).toString('hex')
  const start = definitions(ADMIN, rabbitmqSha256(adminPassword), ['administrator'])
  await put(place, 'definitions.json', JSON.stringify({ ...start, vhosts: [{ name: '/' }] }))
  await put(place, 'rabbitmq.conf', configuration(place.folder, port, httpPort))
  await put(place, 'plugins', '[rabbitmq_management].')

  const authorization = `Basic ${Buffer.from(`${ADMIN}:${adminPassword}`).toString('base64')}`
  async function api(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { Authorization: authorization, 'Content-Type': 'application/json' }
    const response = await fetch(`http://127.0.0.1:${httpPort}/api/${path}`, { ...init, headers })
    if (!response.ok) throw new Error(`RabbitMQ answered ${response.status}: ${await response.text()}`)
    return response
  }
  const environment = environmentOf(place.folder, nodePort, epmdPort)
  await place.serve('env', [...environment, rabbitmqServer], {
    answers: () => api(`health/checks/port-listener/${port}`),
  })

  return {
    name: 'RabbitMQ',
    version: await versionOf(await api('overview')),
    async apply(username, stored) {
      const body = JSON.stringify(definitions(username, stored, []))
      await (await api('definitions', { method: 'POST', body })).body?.cancel()
    },
    async login(username, password) {
      const address = ['--server', '127.0.0.1', '--port', String(port)]
      const user = ['--username', username, '--password', password]
      const { code, stderr } = await command(amqpDeclareQueue, [...address, ...user, '--queue', 'probe'])
      if (code === 0) return true
      if (/ACCESS_REFUSED/.test(stderr)) return false
      throw new Error(`amqp-declare-queue: ${stderr}`)
    },
    stop: place.close,
  }
}

const versionOf = async (overview: Response): Promise<string> => {
  const { rabbitmq_version } = (await overview.json()) as { readonly rabbitmq_version: string }
  return rabbitmq_version
}

/** Permissions let the client declare a queue once it is in. */
const definitions = (name: string, passwordHash: string, tags: readonly string[]) => ({
  users: [{ name, password_hash: passwordHash, hashing_algorithm: 'rabbit_password_hashing_sha256', tags }],
  permissions: [{ user: name, vhost: '/', configure: '.*', write: '.*', read: '.*' }],
})

async function put({ folder, give }: Place, name: string, text: string): Promise<void> {
  await writeFile(join(folder, name), text, { mode: 0o600 })
  await give(join(folder, name))
}

const configuration = (folder: string, port: number, httpPort: number): string =>
  [
    `listeners.tcp.1 = 127.0.0.1:${port}`,
    'management.tcp.ip = 127.0.0.1',
    `management.tcp.port = ${httpPort}`,
    `load_definitions = ${folder}/definitions.json`,
    'log.console = true',
    'log.file = false',
    '',
  ].join('\n')

const environmentOf = (folder: string, nodePort: number, epmdPort: number): readonly string[] => [
  `HOME=${folder}`,
  'RABBITMQ_NODENAME=mintonce@localhost',
  `RABBITMQ_CONFIG_FILE=${folder}/rabbitmq.conf`,
  `RABBITMQ_ENABLED_PLUGINS_FILE=${folder}/plugins`,
  `RABBITMQ_MNESIA_BASE=${folder}/data`,
  `RABBITMQ_LOG_BASE=${folder}`,
  `RABBITMQ_PID_FILE=${folder}/pid`,
  `RABBITMQ_DIST_PORT=${nodePort}`,
  'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}',
  // The script becomes the server, in place of waiting for it.
  'RUNNING_UNDER_SYSTEMD=1',
  `ERL_EPMD_PORT=${epmdPort}`,
]
