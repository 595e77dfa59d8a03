import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { command, type Finished } from '../control-plane/command.ts'
import { freePorts } from '../control-plane/ports.ts'
import type { Engine } from './engine.ts'
import { installEngines } from './install.ts'
import { inPlace } from './place.ts'

const ADMIN = 'admin'

/** Redis, given passwords as its operator does. */
export const startRedis = (): Promise<Engine> =>
  start((username, stored) =>
    username === 'default'
      ? [['CONFIG', 'SET', 'requirepass'], stored]
      : [[...setUser(username), 'resetpass'], `>${stored}`],
  )

/** Redis, given what is stored as a rule of its ACL. */
export const startRedisAcl = (): Promise<Engine> =>
  start((username, stored) => [[...setUser(username), 'resetpass'], stored])

const setUser = (username: string): readonly string[] => ['ACL', 'SETUSER', username, 'on', '~*', '+@all']

/** Its `default` user has a password that nobody knows until one is applied. */
async function start(
  applying: (username: string, stored: string) => readonly [command: readonly string[], last: string],
): Promise<Engine> {
  const { redisCli, redisServer } = await installEngines()
  const [port = 0] = await freePorts(1)
  return inPlace('redis', async (place) => {
    const adminPassword = randomBytes(16).toString('hex')
    const config = join(place.folder, 'redis.conf')
    await writeFile(config, configuration(place.folder, port, adminPassword), { mode: 0o600 })
    await place.give(config)

    const cli = createCli(redisCli, port)
    async function asAdmin(args: readonly string[], stdin?: string): Promise<string> {
      const { code, stdout, stderr } = await cli(ADMIN, adminPassword, args, stdin)
      if (code !== 0) throw new Error(`redis-cli: ${stdout}${stderr}`)
      return stdout.trim()
    }
    await place.serve(redisServer, [config], { answers: () => asAdmin(['PING']) })

    return {
      name: 'Redis',
      version: /^redis_version:(\S+)/m.exec(await asAdmin(['INFO', 'server']))?.[1] ?? '',
      // `-x` takes the last argument from the standard input.
      async apply(username, stored) {
        const [args, last] = applying(username, stored)
        await asAdmin(['-x', ...args], last)
      },
      async login(username, password) {
        const { code, stdout, stderr } = await cli(username, password, ['ACL', 'WHOAMI'])
        if (code === 0) return stdout.trim() === username
        if (/WRONGPASS/.test(stdout + stderr)) return false
        throw new Error(`redis-cli: ${stdout}${stderr}`)
      },
      stop: place.close,
    }
  })
}

const configuration = (folder: string, port: number, adminPassword: string): string =>
  [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir ${folder}`,
    'save ""',
    `requirepass ${randomBytes(16).toString('hex')}`,
    `user ${ADMIN} on >${adminPassword} ~* &* +@all`,
    '',
  ].join('\n')

type Cli = (username: string, password: string, args: readonly string[], stdin?: string) => Promise<Finished>

/** `-e`: an error of Redis is one of the program. */
const createCli =
  (redisCli: string, port: number): Cli =>
  (username, password, args, stdin = '') => {
    const address = ['-h', '127.0.0.1', '-p', String(port), '--user', username]
    return command(redisCli, ['-e', ...address, ...args], { env: { REDISCLI_AUTH: password }, stdin })
  }
