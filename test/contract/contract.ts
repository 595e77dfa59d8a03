import { afterAll, beforeAll, describe } from 'vitest'
import type { Backend } from './backend.ts'
import { access } from './suite/access.ts'
import { concurrency } from './suite/concurrency.ts'
import { definitions } from './suite/definitions.ts'
import { discovery } from './suite/discovery.ts'
import { forged } from './suite/forged.ts'
import { hints } from './suite/hints.ts'
import { holders } from './suite/holders.ts'
import { impersonation } from './suite/impersonation.ts'
import { mint } from './suite/mint.ts'
import { preconditions } from './suite/preconditions.ts'
import { read } from './suite/read.ts'
import { requests } from './suite/requests.ts'
import { secrecy } from './suite/secrecy.ts'
import { sources } from './suite/sources.ts'
import { surroundings } from './suite/surroundings.ts'
import { sync } from './suite/sync.ts'
import { syncUndeclared } from './suite/sync-undeclared.ts'
import { trustAnchors } from './suite/trust-anchors.ts'
import { createTenant, type Tenant } from './tenant.ts'

/** What a suite works with: the function under test, and a new tenant whenever it asks for one. */
export interface Contract {
  readonly backend: () => Backend
  readonly tenant: () => Promise<Tenant>
}

/** What the function does, whatever it runs on and whatever Kubernetes API is behind it. */
export function contract(name: string, start: () => Promise<Backend>): void {
  contractOf(name, start, (context) => {
    objects(context)
    access(context)
    forged(context)
    impersonation(context)
    requests(context)
    discovery(context)
    hints(context)
    trustAnchors(context)
  })
}

/** The same for callers who never reach it by themselves: who they are, and what is no request, somebody else decides. */
export function contractBehindProxy(name: string, start: () => Promise<Backend>): void {
  contractOf(name, start, objects)
}

/** What becomes of credentials. */
function objects(context: Contract): void {
  mint(context)
  preconditions(context)
  holders(context)
  surroundings(context)
  read(context)
  definitions(context)
  sources(context)
  concurrency(context)
  sync(context)
  syncUndeclared(context)
}

function contractOf(name: string, start: () => Promise<Backend>, suites: (context: Contract) => void): void {
  describe(name, () => {
    let backend: Backend | undefined
    const running = () => {
      if (backend === undefined) throw new Error('the backend did not start')
      return backend
    }
    beforeAll(async () => {
      backend = await start()
    })
    afterAll(() => backend?.stop())

    const context: Contract = { backend: running, tenant: () => createTenant(running()) }
    suites(context)
    // The last one: it looks for what the others minted.
    secrecy(context)
  })
}
