import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { command, succeed } from '../control-plane/command.ts'
import { freePorts } from '../control-plane/ports.ts'
import { type ExecEndpoint, startExecEndpoint } from '../helpers/exec-endpoint.ts'
import { installEngines } from './install.ts'
import { inPlace } from './place.ts'

/** A MariaDB as its operator makes one: root has a password, on the socket and from everywhere. */
export interface MariadbRoot {
  /** `pods/exec` into its pod. */
  readonly endpoint: ExecEndpoint
  /** Whether root comes in with it, through the socket and by TCP alike. Throws when only one of them takes it. */
  readonly takes: (password: string) => Promise<boolean>
  /** Command lines and environments of all processes, as they were each time when the client was started. */
  readonly processes: () => Promise<string>
  /** Every statement that the server has seen. */
  readonly statements: () => Promise<string>
  readonly stop: () => Promise<void>
}

/** In the environment of the container: what is there can be seen. */
const IN_ENVIRONMENT = 'seen-in-the-environment'

export async function startMariadbRoot(password: string): Promise<MariadbRoot> {
  const programs = await installEngines()
  const [port = 0] = await freePorts(1)
  return inPlace('mariadb-root', async (place) => {
    const [data, socket, general, processes] = ['data', 'socket', 'general.log', 'processes'].map((name) =>
      join(place.folder, name),
    ) as [string, string, string, string]
    await place.run(programs.mariadbInstallDb, [
      '--no-defaults',
      `--datadir=${data}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ])
    const as = (way: readonly string[], secret: string, sql: string) =>
      command(programs.mariadb, ['--no-defaults', ...way, '--user=root', '--batch', '--skip-column-names'], {
        env: { MYSQL_PWD: secret },
        stdin: sql,
      })
    const bySocket = [`--socket=${socket}`]
    const byTcp = ['--protocol=tcp', '--host=127.0.0.1', `--port=${port}`, '--skip-ssl']
    await place.serve(
      programs.mariadbd,
      [
        '--no-defaults',
        `--datadir=${data}`,
        `--socket=${socket}`,
        `--pid-file=${socket}.pid`,
        `--port=${port}`,
        '--bind-address=127.0.0.1',
        '--skip-name-resolve',
        `--general-log-file=${general}`,
      ],
      {
        answers: () =>
          succeed(programs.mariadb, ['--no-defaults', ...bySocket, '--user=root'], { stdin: 'SELECT 1' }),
      },
    )
    await succeed(programs.mariadb, ['--no-defaults', ...bySocket, '--user=root'], {
      stdin: `DELETE FROM mysql.global_priv WHERE User = '' OR (User = 'root' AND Host <> 'localhost'); FLUSH PRIVILEGES;
        CREATE USER root@'%' IDENTIFIED BY '${password}'; GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;
        CREATE USER root@'unused.example' IDENTIFIED VIA unix_socket;
        ALTER USER root@localhost IDENTIFIED BY '${password}'; SET GLOBAL general_log = ON;`,
    })

    const client = await watchedClient(place.folder, { real: programs.mariadb, socket, processes })
    const env = [`PATH=${client}:/usr/bin:/bin`, `SAID=${IN_ENVIRONMENT}`]
    const endpoint = await startExecEndpoint({
      react: ({ command: run }) => ({ run: ['env', '-i', ...env, ...run] }),
    })
    return {
      endpoint,
      takes: async (secret) => {
        const answers = await Promise.all([bySocket, byTcp].map((way) => as(way, secret, 'SELECT 1')))
        const isIn = answers.map(({ code }) => code === 0)
        if (new Set(isIn).size > 1) throw new Error(`only one root takes it: ${isIn}`)
        return isIn.every(Boolean)
      },
      processes: () => readFile(processes, 'utf8'),
      statements: () => readFile(general, 'utf8'),
      stop: async () => {
        await endpoint.stop()
        await place.close()
      },
    }
  })
}

/** The client under its name, which looks around before it is what it is. */
async function watchedClient(
  folder: string,
  { real, socket, processes }: { readonly real: string; readonly socket: string; readonly processes: string },
): Promise<string> {
  const file = join(folder, 'mariadb')
  const lines = [
    '#!/bin/sh',
    'for process in /proc/[0-9]*; do',
    `  for part in cmdline environ; do tr '\\000' ' ' <"$process/$part"; echo; done`,
    `done >>'${processes}' 2>/dev/null`,
    `printf 'started with: %s\\n' "$*" >>'${processes}'`,
    // Where the socket is by itself in the image of a container.
    `exec '${real}' "$@" --socket='${socket}'`,
  ]
  await writeFile(file, `${lines.join('\n')}\n`)
  await chmod(file, 0o755)
  return folder
}
