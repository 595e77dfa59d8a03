import { type RealApiServer, startRealApiServer } from '../contract/backends/real-api-server.ts'
import { SETTINGS } from '../contract/backends/settings.ts'
import { type Admin, adminOf, decode } from '../contract/kube.ts'
import { releaseOf } from '../contract/tenant.ts'
import { type RunningEntry, startEntry } from '../helpers/entry.ts'
import type { Engine } from './engine.ts'

/** The tenant that pages and examples speak of. */
export const NAMESPACE = 'tenant-acme'

/** The function in front of a real kube-apiserver, for programs that call it from outside. */
export interface Served {
  readonly api: RealApiServer
  readonly admin: Admin
  readonly entry: RunningEntry
  /** Orders a Postgres `orders` with these users. */
  readonly order: (...users: readonly string[]) => Promise<void>
  /** What the account Secret of a Credential holds; an empty string when there is none. */
  readonly stored: (credential: string) => Promise<string>
  readonly stop: () => Promise<void>
}

export async function startServed(settings: Readonly<Record<string, string>> = {}): Promise<Served> {
  const api = await startRealApiServer()
  const admin = adminOf(api.admin)
  const entry = await startEntry(api, { ...SETTINGS, ...settings })
  const metadata = { name: NAMESPACE }
  await admin.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata })
  return {
    api,
    admin,
    entry,
    order: async (...users) => {
      const values = { users: Object.fromEntries(users.map((user) => [user, {}])) }
      const path = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${NAMESPACE}/helmreleases`
      await admin.create(path, releaseOf('Postgres', 'orders', values))
    },
    stored: async (credential) =>
      decode(
        (await admin.find(`/api/v1/namespaces/${NAMESPACE}/secrets/${credential}.account`))?.data.password,
      ),
    stop: async () => {
      await entry.stop().finally(api.stop)
    },
  }
}

/** For an engine's operator: gives the engine what the Secrets of these users hold, whenever it is something else. */
export function operatorOf(
  engine: Engine,
  { stored }: Pick<Served, 'stored'>,
  users: readonly string[],
): { readonly end: () => Promise<void> } {
  const applied = new Map<string, string>()
  let isEnded = false
  const work = async () => {
    while (!isEnded) {
      for (const user of users) {
        const value = await stored(`postgres-orders.${user}`)
        if (value !== '' && value !== applied.get(user)) await engine.apply(user, value)
        applied.set(user, value)
      }
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
  const working = work()
  // Its failure is the test's, at the end.
  working.catch(() => {})
  return {
    end: async () => {
      isEnded = true
      await working
    },
  }
}
