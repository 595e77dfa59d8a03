import { userInfo } from 'node:os'
import { join } from 'node:path'
import { command, succeed } from '../control-plane/command.ts'
import { freePorts } from '../control-plane/ports.ts'
import type { Engine } from './engine.ts'
import { installEngines, type Programs } from './install.ts'
import { inPlace, type Place } from './place.ts'

/** MariaDB. Its root comes in through the socket only, and is whoever runs the tests; everybody else comes by TCP. */
export async function startMariadb(): Promise<Engine> {
  const programs = await installEngines()
  const [port = 0] = await freePorts(1)
  return inPlace('mariadb', async (place) => {
    const data = join(place.folder, 'data')
    const socket = join(place.folder, 'socket')
    const asAdmin = async (sql: string) => {
      const args = ['--no-defaults', `--socket=${socket}`, '--user=root', '--batch', '--skip-column-names']
      return (await succeed(programs.mariadb, args, { stdin: sql })).trim()
    }
    await initialise(place, programs, data)
    await place.serve(programs.mariadbd, serverFlags(data, socket, port), {
      answers: () => asAdmin('SELECT 1'),
    })
    await asAdmin(DROP_ANONYMOUS)

    return {
      name: 'MariaDB',
      version: await asAdmin('SELECT VERSION()'),
      apply: async (username, stored) => void (await asAdmin(userStatements(username, stored))),
      login: (username, password) => login(programs.mariadb, port, username, password),
      stop: place.close,
    }
  })
}

async function initialise(place: Place, { mariadbInstallDb }: Programs, data: string): Promise<void> {
  await place.run(mariadbInstallDb, [
    '--no-defaults',
    `--datadir=${data}`,
    '--auth-root-authentication-method=socket',
    `--auth-root-socket-user=${userInfo().username}`,
    '--skip-test-db',
  ])
}

const serverFlags = (data: string, socket: string, port: number): readonly string[] => [
  '--no-defaults',
  `--datadir=${data}`,
  `--socket=${socket}`,
  `--pid-file=${socket}.pid`,
  `--port=${port}`,
  '--bind-address=127.0.0.1',
  '--skip-name-resolve',
  '--innodb-flush-log-at-trx-commit=0',
]

/** The anonymous user of a host, if there is one, wins over an account of any host. */
const DROP_ANONYMOUS = "DELETE FROM mysql.global_priv WHERE User = ''; FLUSH PRIVILEGES"

/** The statements that mariadb-operator sends for a User whose password is given as a hash. */
function userStatements(username: string, stored: string): string {
  const user = `${literal(username)}@'%'`
  const identified = `IDENTIFIED BY PASSWORD ${literal(stored)}`
  return `CREATE USER IF NOT EXISTS ${user} ${identified};\nALTER USER ${user} ${identified};`
}

const literal = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`

/** `ER_ACCESS_DENIED_ERROR`, and `ER_HOST_NOT_PRIVILEGED` as long as nobody at all may come by TCP. */
const ACCESS_DENIED = /^ERROR (1045 \(28000\)|1130 \(HY000\))/m

async function login(mariadb: string, port: number, username: string, password: string): Promise<boolean> {
  const address = ['--protocol=tcp', '--host=127.0.0.1', `--port=${port}`, `--user=${username}`]
  const args = ['--no-defaults', '--skip-ssl', ...address, '--batch', '--skip-column-names']
  const stdin = 'SELECT CURRENT_USER()'
  const answer = await command(mariadb, args, { env: { MYSQL_PWD: password }, stdin })
  if (answer.code === 0) return answer.stdout.trim() === `${username}@%`
  if (ACCESS_DENIED.test(answer.stderr)) return false
  throw new Error(`mariadb: ${answer.stderr}`)
}
