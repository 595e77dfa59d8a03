import { rmSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Backend } from '../../test/contract/backend.ts'
import { backendOf } from '../../test/contract/backends/node-process.ts'
import { type RealApiServer, startRealApiServer } from '../../test/contract/backends/real-api-server.ts'
import { onProcessEnd } from '../../test/control-plane/daemon.ts'
import type { RunningEntry } from '../../test/helpers/entry.ts'
import { type OidcIssuer, startIssuer } from '../../test/helpers/oidc-issuer.ts'
import { type BareSend, createBareClient } from '../bare-client.ts'
import { startAsImage } from '../image-flags.ts'
import { type StartApi, startApi } from '../start-api.ts'

/** The function that ships, as a process in front of the control plane, called over HTTP. */
export interface FunctionProcess {
  readonly entry: RunningEntry
  readonly backend: Backend
  readonly issuer: OidcIssuer
}

/** What rows share. Each part is started when a row first asks for it, and ends with the run. */
export interface Context {
  readonly isQuick: boolean
  /** A few in place of `full` when it only has to be seen that it runs. */
  readonly rounds: (full: number) => number
  /** A copy of `dist/`: a build that happens meanwhile changes nothing. */
  readonly dist: string
  /** For what a row writes. */
  readonly folder: string
  readonly api: () => Promise<RealApiServer>
  readonly function: () => Promise<FunctionProcess>
  /** With the function's own token. */
  readonly bare: () => Promise<BareSend>
  readonly sandbox: () => Promise<StartApi>
  /** Done when the run is over, the last first. */
  readonly atEnd: (work: () => unknown) => void
}

interface Ending {
  /** Ends all of it, whatever does not end. Answers what was wrong. */
  readonly end: () => Promise<readonly string[]>
}

/** As long as anybody may need: no goal here is about these. */
export const SETTINGS = { MINTONCE_LOG_LEVEL: 'info' }

export async function createContext(isQuick: boolean): Promise<Context & Ending> {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-bench.'))
  onProcessEnd(() => rmSync(folder, { recursive: true, force: true }))
  const dist = join(folder, 'dist')
  await cp(join(import.meta.dirname, '../../dist'), dist, { recursive: true })
  // Without it Node looks at the text of each file to tell what it is made of.
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  const ends: (() => unknown)[] = [() => rm(folder, { recursive: true, force: true, maxRetries: 3 })]
  const started = <T>(start: () => Promise<T>, end: (of: T) => unknown = () => undefined) =>
    once(async () => {
      const value = await start()
      ends.push(() => end(value))
      return value
    })
  const api = started(startRealApiServer, ({ stop }) => stop())
  return {
    isQuick,
    rounds: (full) => (isQuick ? Math.min(3, full) : full),
    dist,
    folder,
    api,
    function: started(
      async () => startFunction(await api(), join(dist, 'node.js')),
      async ({ entry, issuer }) => {
        await entry.stop()
        issuer.stop()
      },
    ),
    bare: started(async () => {
      const { url, caFile = '', tokenFile } = await (await api()).forProcess()
      const [ca, token] = await Promise.all([readFile(caFile, 'utf8'), readFile(tokenFile, 'utf8')])
      return createBareClient({ url, ca, token })
    }),
    sandbox: started(startApi, ({ stop }) => stop()),
    atEnd: (work) => ends.push(work),
    end: async () => {
      const wrong: string[] = []
      for (const end of ends.reverse()) {
        try {
          await end()
        } catch (error) {
          wrong.push(`does not end: ${error instanceof Error ? error.stack : String(error)}`)
        }
      }
      return wrong
    },
  }
}

/** Whoever has started it ends the entry and the issuer. */
export async function startFunction(api: RealApiServer, file: string): Promise<FunctionProcess> {
  const issuer = await startIssuer(api.plane)
  const entry = await startAsImage(
    api,
    { ...SETTINGS, MINTONCE_AUTHENTICATION_CONFIG: JSON.stringify(trusting(issuer.url, api.plane.ca)) },
    file,
  )
  return { entry, issuer, backend: backendOf(api, entry) }
}

const trusting = (url: string, certificateAuthority: string) => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  jwt: [
    {
      issuer: { url, certificateAuthority, audiences: ['kubernetes'] },
      claimMappings: {
        username: { claim: 'sub', prefix: 'oidc:' },
        groups: { claim: 'groups', prefix: 'oidc:' },
      },
    },
  ],
})

/** A start that failed is tried again by whoever asks next. */
function once<T>(start: () => Promise<T>): () => Promise<T> {
  let started: Promise<T> | undefined
  return () => {
    started ??= start().catch((error: unknown) => {
      started = undefined
      throw error
    })
    return started
  }
}
