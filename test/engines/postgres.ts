import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { KeyPair } from '../control-plane/certificates.ts'
import { command, type Finished } from '../control-plane/command.ts'
import { freePorts } from '../control-plane/ports.ts'
import type { Engine } from './engine.ts'
import { installEngines } from './install.ts'
import { inPlace } from './place.ts'

const ADMIN = 'postgres'

/** The server's answer, and the client's own to a demand for a password when it was given an empty one. */
const REFUSED = /password authentication failed for user|fe_sendauth: no password supplied/

/** An engine, and how somebody else reaches it: psql, with this host, port and database. */
export interface Postgres extends Engine {
  readonly psql: string
  readonly address: string
  readonly port: number
  /** From the next connection on it has TLS, with this certificate. */
  readonly serveTls: (pair: KeyPair) => Promise<void>
}

/** PostgreSQL. Every way in demands SCRAM-SHA-256, also of its administrator; there is no socket beside TCP. */
export async function startPostgres(): Promise<Postgres> {
  const { initdb, pgCtl, postgres, psql } = await installEngines()
  const [port = 0] = await freePorts(1)
  return inPlace('postgres', async (place) => {
    const data = join(place.folder, 'data')
    const adminPassword = randomBytes(16).toString('hex')
    await initialise(adminPassword)
    const query = createQuery(psql, port)
    const asAdmin = (sql: string) => mustSucceed(query(ADMIN, adminPassword, sql))
    await place.serve(postgres, serverFlags(data, port), {
      answers: () => asAdmin('SELECT 1'),
      // Killed, it would leave a shared memory segment behind.
      quit: () => place.run(pgCtl, ['stop', '-s', '-m', 'immediate', '-D', data]),
    })

    return {
      name: 'PostgreSQL',
      psql,
      address: `-h 127.0.0.1 -p ${port} -d postgres`,
      port,
      serveTls: async (pair) => void (await asAdmin(tlsStatements(await place.giveCopy(pair)))),
      version: await asAdmin('SHOW server_version'),
      apply: async (username, stored) => void (await asAdmin(roleStatements(username, stored))),
      async login(username, password) {
        const answer = await query(username, password, 'SELECT current_user')
        if (answer.code === 0) return answer.stdout.trim() === username
        if (REFUSED.test(answer.stderr)) return false
        throw new Error(`psql: ${answer.stderr}`)
      },
      stop: place.close,
    }

    async function initialise(password: string): Promise<void> {
      const passwordFile = join(place.folder, 'password')
      await writeFile(passwordFile, password, { mode: 0o600 })
      await place.give(passwordFile)
      const access = ['--auth=scram-sha-256', `--username=${ADMIN}`, `--pwfile=${passwordFile}`]
      await place.run(initdb, [`--pgdata=${data}`, ...access, '--locale=C', '--encoding=UTF8', '--no-sync'])
    }
  })
}

function serverFlags(data: string, port: number): readonly string[] {
  const settings = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '', fsync: 'off' }
  return ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

/** Settings that a running server takes over; the statements do not wait for it. */
const tlsStatements = ({ certFile, keyFile }: KeyPair): string =>
  [
    `ALTER SYSTEM SET ssl_cert_file = ${literal(certFile)};`,
    `ALTER SYSTEM SET ssl_key_file = ${literal(keyFile)};`,
    'ALTER SYSTEM SET ssl = on;',
    'SELECT pg_reload_conf();',
  ].join('\n')

/** The statements that CloudNativePG sends for a managed role: it passes a SCRAM verifier on as it is. */
function roleStatements(username: string, stored: string): string {
  const role = `"${username.replaceAll('"', '""')}"`
  const name = literal(username)
  const create = literal(`CREATE ROLE ${role}`)
  return [
    `SELECT ${create} WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = ${name}) \\gexec`,
    `ALTER ROLE ${role} LOGIN PASSWORD ${literal(stored)};`,
  ].join('\n')
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

type Query = (username: string, password: string, sql: string) => Promise<Finished>

const createQuery =
  (psql: string, port: number): Query =>
  (username, password, sql) => {
    const address = ['--host=127.0.0.1', `--port=${port}`, '--dbname=postgres', `--username=${username}`]
    const plain = ['--no-psqlrc', '--no-password', '--tuples-only', '--no-align', '--set=ON_ERROR_STOP=1']
    const env = { PGPASSWORD: password, PGPASSFILE: '/dev/null', PGSSLMODE: 'disable', LC_ALL: 'C' }
    return command(psql, [...plain, ...address], { env, stdin: sql })
  }

async function mustSucceed(running: Promise<Finished>): Promise<string> {
  const { code, stdout, stderr } = await running
  if (code !== 0) throw new Error(`psql: ${stderr}`)
  return stdout.trim()
}
