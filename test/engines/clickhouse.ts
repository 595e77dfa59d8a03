import { createHash, randomBytes } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { command, type Finished } from '../control-plane/command.ts'
import { freePorts } from '../control-plane/ports.ts'
import type { Engine } from './engine.ts'
import { installEngines } from './install.ts'
import { inPlace, type Place } from './place.ts'

const ADMIN = 'admin'

/** ClickHouse. Its users are XML files, as its operator writes them. There is no `default` user. */
export async function startClickhouse(): Promise<Engine> {
  const { clickhouseClient, clickhouseServer } = await installEngines()
  const [port = 0, httpPort = 0] = await freePorts(2)
  return inPlace('clickhouse', async (place) => {
    const adminPassword = randomBytes(16).toString('hex')
    const adminHash = createHash('sha256').update(adminPassword).digest('hex')
    await mkdir(join(place.folder, 'users.d'))
    const config = join(place.folder, 'config.xml')
    await put(place, 'config.xml', serverConfig(place.folder, port, httpPort))
    await put(
      place,
      'users.xml',
      `<yandex><profiles><default/></profiles><quotas><default/></quotas></yandex>`,
    )
    await put(place, `users.d/${ADMIN}.xml`, userConfig(ADMIN, adminHash))

    const query = createQuery(clickhouseClient, place, port)
    async function asAdmin(sql: string): Promise<string> {
      const { code, stdout, stderr } = await query(ADMIN, adminPassword, sql)
      if (code !== 0) throw new Error(`clickhouse-client: ${stderr}`)
      return stdout.trim()
    }
    await place.serve(clickhouseServer, [`--config-file=${config}`], { answers: () => asAdmin('SELECT 1') })

    return {
      name: 'ClickHouse',
      version: await asAdmin('SELECT version()'),
      async apply(username, stored) {
        await put(place, `users.d/${username}.xml`, userConfig(username, stored))
        await asAdmin('SYSTEM RELOAD CONFIG')
      },
      async login(username, password) {
        const { code, stdout, stderr } = await query(username, password, 'SELECT 1')
        if (code === 0) return stdout.trim() === '1'
        if (REFUSED.test(stderr)) return false
        throw new Error(`clickhouse-client: ${stderr}`)
      },
      stop: place.close,
    }
  })
}

/** `UNKNOWN_USER`, `WRONG_PASSWORD`, `REQUIRED_PASSWORD`. */
const REFUSED = /^Code: (192|193|194)\. DB::Exception/m

/** Whole or not at all: the server looks for changes by itself too. */
async function put({ folder, give }: Place, name: string, text: string): Promise<void> {
  const unfinished = join(folder, 'unfinished')
  await writeFile(unfinished, text, { mode: 0o600 })
  await give(unfinished)
  await rename(unfinished, join(folder, name))
}

const serverConfig = (folder: string, port: number, httpPort: number): string => `<yandex>
  <logger><level>warning</level><console>1</console></logger>
  <listen_host>127.0.0.1</listen_host>
  <tcp_port>${port}</tcp_port>
  <http_port>${httpPort}</http_port>
  <path>${folder}/data/</path>
  <tmp_path>${folder}/tmp/</tmp_path>
  <users_config>users.xml</users_config>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  <mark_cache_size>5368709</mark_cache_size>
</yandex>
`

/** A user's name is an element's name here, so it must be one. */
function userConfig(username: string, stored: string): string {
  if (!/^[A-Za-z_][\w.-]*$/.test(username)) throw new TypeError(`not the name of an XML element: ${username}`)
  return `<yandex><users><${username}>
  <password_sha256_hex>${xmlText(stored)}</password_sha256_hex>
  <networks><ip>127.0.0.1</ip></networks>
  <profile>default</profile>
  <quota>default</quota>
</${username}></users></yandex>
`
}

const xmlText = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

type Query = (username: string, password: string, sql: string) => Promise<Finished>

/** This old client takes a password on its command line or from a file. */
const createQuery =
  (clickhouseClient: string, { folder }: Place, port: number): Query =>
  async (username, password, sql) => {
    const file = join(folder, `client-${randomBytes(8).toString('hex')}.xml`)
    const login = `<user>${xmlText(username)}</user><password>${xmlText(password)}</password>`
    const address = `<host>127.0.0.1</host><port>${port}</port>`
    await writeFile(file, `<config>${address}${login}</config>`, { mode: 0o600 })
    const env = { HOME: folder, LC_ALL: 'C' }
    const finished = await command(clickhouseClient, [`--config-file=${file}`, '--query', sql], { env })
    await rm(file)
    return finished
  }
