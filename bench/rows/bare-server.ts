import { join } from 'node:path'
import type { ApiServer } from '../../test/contract/backends/api-server.ts'
import { startProgram } from '../../test/helpers/program.ts'
import { createBareClient } from '../bare-client.ts'
import type { BareServed } from '../bare-server.ts'
import { imageFlags } from '../image-flags.ts'

interface BareServer {
  readonly pid: number
  readonly port: number
  /** One of what it serves, by its number. */
  readonly mint: (index: number) => Promise<unknown>
  readonly stop: () => Promise<unknown>
}

interface Shown {
  /** What its callers show. */
  readonly token?: string
  readonly serving?: Serving
  /** Of Node: those of the image where none are given. */
  readonly flags?: readonly string[]
}

interface Serving {
  readonly certFile: string
  readonly keyFile: string
}

/** A server that mints with nothing around it, as a process of its own with the function's own token. Over TLS with a certificate. */
export async function startBareServer(
  api: Pick<ApiServer, 'forProcess'>,
  served: readonly BareServed[],
  { token = '', serving, flags }: Shown = {},
): Promise<BareServer> {
  const { url, caFile = '', tokenFile } = await api.forProcess()
  const { pid, found, stop } = await startProgram(
    [process.execPath, ...(flags ?? (await imageFlags())), join(import.meta.dirname, '../bare-server.ts')],
    {
      ready: /"event":"listening".*"port":(\d+)/,
      env: {
        KUBE_URL: url,
        CA_FILE: caFile,
        TOKEN_FILE: tokenFile,
        SERVED: JSON.stringify(served),
        ...(serving === undefined ? {} : { CERT_FILE: serving.certFile, KEY_FILE: serving.keyFile }),
      },
    },
  )
  const port = Number(found[1])
  const send = createBareClient({ url: `http://127.0.0.1:${port}`, token })
  return { pid, port, mint: (index) => send('POST', `/${index}`), stop: () => stop('SIGTERM') }
}
