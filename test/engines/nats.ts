import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { command } from '../control-plane/command.ts'
import { freePorts } from '../control-plane/ports.ts'
import type { Engine } from './engine.ts'
import { installEngines } from './install.ts'
import { inPlace } from './place.ts'

/** nats-server. Its users stand in its configuration, which it reads again at SIGHUP. */
export async function startNats(): Promise<Engine> {
  const { natsServer } = await installEngines()
  const [port = 0, monitoring = 0] = await freePorts(2)
  return inPlace('nats', async (place) => {
    const users = new Map([['admin', randomBytes(16).toString('hex')]])
    const pidFile = join(place.folder, 'pid')
    await putConfig()

    async function putConfig(): Promise<void> {
      const unfinished = join(place.folder, 'unfinished')
      const configuration = {
        listen: `127.0.0.1:${port}`,
        http: `127.0.0.1:${monitoring}`,
        pid_file: pidFile,
        authorization: { users: [...users].map(([user, password]) => ({ user, password })) },
      }
      await writeFile(unfinished, JSON.stringify(configuration), { mode: 0o600 })
      await place.give(unfinished)
      await rename(unfinished, join(place.folder, 'nats.conf'))
    }

    /** When it last took a configuration. */
    async function loadedAt(): Promise<string> {
      const response = await fetch(`http://127.0.0.1:${monitoring}/varz`)
      const { config_load_time } = (await response.json()) as { readonly config_load_time: string }
      return config_load_time
    }

    await place.serve(natsServer, ['-c', join(place.folder, 'nats.conf')], { answers: loadedAt })
    const { stdout } = await command(natsServer, ['--version'])
    return {
      name: 'NATS',
      version: /v(\S+)/.exec(stdout)?.[1] ?? '',
      async apply(username, stored) {
        users.set(username, stored)
        await putConfig()
        const before = await loadedAt()
        process.kill(Number(await readFile(pidFile, 'utf8')), 'SIGHUP')
        const deadline = performance.now() + 30_000
        while ((await loadedAt()) === before) {
          if (performance.now() > deadline) throw new Error('nats-server does not take its configuration')
          await sleep(20)
        }
      },
      login: (user, pass) => login(port, { user, pass }),
      stop: place.close,
    }
  })
}

/** NATS' client protocol: after INFO, CONNECT and PING; the answer is PONG or an error. */
async function login(port: number, credentials: { user: string; pass: string }): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    const lines = createInterface({ input: socket })
    const failed = new Promise<never>((_, reject) => socket.once('error', reject))
    const answered = async () => {
      for await (const line of lines) {
        const options = JSON.stringify({ ...credentials, verbose: false, pedantic: false })
        if (line.startsWith('INFO ')) socket.write(`CONNECT ${options}\r\nPING\r\n`)
        if (line === 'PONG') return true
        if (/^-ERR 'Authorization Violation'/.test(line)) return false
      }
      throw new Error('nats-server hung up')
    }
    return await Promise.race([answered(), failed])
  } finally {
    socket.destroy()
  }
}
