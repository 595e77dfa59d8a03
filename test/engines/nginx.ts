import { once } from 'node:events'
import { rename, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { KeyPair } from '../control-plane/certificates.ts'
import { command } from '../control-plane/command.ts'
import { freePorts } from '../control-plane/ports.ts'
import type { Engine } from './engine.ts'
import { installEngines } from './install.ts'
import { inPlace } from './place.ts'

/** nginx with basic authentication. It reads the file of users at each request, and checks them by crypt(3). */
export async function startNginx(): Promise<Engine> {
  const { nginx } = await installEngines()
  const [port = 0] = await freePorts(1)
  return inPlace('nginx', async (place) => {
    const users = new Map<string, string>()
    const config = join(place.folder, 'nginx.conf')
    await writeFile(config, configuration(place.folder, port), { mode: 0o644 })
    await putUsers()

    async function status(username: string, password: string): Promise<number> {
      const Authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
      const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { Authorization } })
      await response.body?.cancel()
      return response.status
    }

    /** Whole or not at all. */
    async function putUsers(): Promise<void> {
      const unfinished = join(place.folder, 'unfinished')
      const lines = [...users].map(([username, stored]) => `${username}:${stored}\n`)
      await writeFile(unfinished, lines.join(''), { mode: 0o600 })
      await place.give(unfinished)
      await rename(unfinished, join(place.folder, 'users'))
    }

    await place.serve(nginx, ['-p', place.folder, '-c', config, '-e', 'stderr'], {
      answers: () => status('nobody', 'nothing'),
    })
    const { stderr } = await command(nginx, ['-v'])
    return {
      name: 'nginx',
      version: /nginx\/(\S+)/.exec(stderr)?.[1] ?? '',
      async apply(username, stored) {
        users.set(username, stored)
        await putUsers()
      },
      async login(username, password) {
        const answer = await status(username, password)
        if (answer === 204) return true
        if (answer === 401) return false
        throw new Error(`nginx answered ${answer}`)
      },
      stop: place.close,
    }
  })
}

/** A web server with TLS and this certificate, which answers 204. */
export interface WebServer {
  readonly url: string
  readonly stop: () => Promise<void>
}

export async function startTlsNginx(pair: KeyPair): Promise<WebServer> {
  const { nginx } = await installEngines()
  const [port = 0] = await freePorts(1)
  return inPlace('nginx', async (place) => {
    const { certFile, keyFile } = await place.giveCopy(pair)
    const config = join(place.folder, 'nginx.conf')
    const lines = [
      `listen 127.0.0.1:${port} ssl;`,
      `ssl_certificate ${certFile};`,
      `ssl_certificate_key ${keyFile};`,
      'location / { return 204; }',
    ]
    await writeFile(config, around(place.folder, lines.join('\n')), { mode: 0o644 })
    await place.serve(nginx, ['-p', place.folder, '-c', config, '-e', 'stderr'], {
      answers: () => listensAt(port),
    })
    return { url: `https://localhost:${port}/`, stop: place.close }
  })
}

async function listensAt(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect').finally(() => socket.destroy())
}

/** One process, so that it ends with the process that was started. */
const around = (folder: string, server: string): string => `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  server {
${server}
  }
}
`

const configuration = (folder: string, port: number): string =>
  around(
    folder,
    `
    listen 127.0.0.1:${port};
    auth_basic "test";
    auth_basic_user_file ${folder}/users;
    location / { try_files /nothing @in; }
    location @in { return 204; }`,
  )
