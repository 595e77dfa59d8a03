import { afterAll, beforeAll, describe } from 'vitest'
import type { Fetch } from '../../src/core/deps.ts'
import { access } from './suite/access.ts'
import { configMaps } from './suite/config-maps.ts'
import { deletes } from './suite/deletes.ts'
import { events } from './suite/events.ts'
import { lists } from './suite/lists.ts'
import { namespaces } from './suite/namespaces.ts'
import { owners } from './suite/owners.ts'
import { patches } from './suite/patches.ts'
import { paths } from './suite/paths.ts'
import { projections } from './suite/projections.ts'
import { reviews } from './suite/reviews.ts'
import { updates } from './suite/updates.ts'
import { writes } from './suite/writes.ts'

/** A Kubernetes API, whoever serves it. */
export interface KubeApi {
  readonly admin: Fetch
  /** As a user without groups of its own. */
  readonly as: (username: string) => Fetch
  readonly stop: () => Promise<void>
}

/** What a test asks with: an API that is up. */
export interface Served {
  readonly api: () => KubeApi
}

/** What kube-apiserver 1.36 answers: on the sandbox it says whether that still stands in for one. */
export function kubeApi(name: string, start: () => Promise<KubeApi>): void {
  describe(name, () => {
    let started: KubeApi | undefined
    beforeAll(async () => {
      started = await start()
    })
    afterAll(() => started?.stop())
    const served: Served = {
      api: () => {
        if (started === undefined) throw new Error('the API did not start')
        return started
      },
    }
    for (const suite of [
      writes,
      updates,
      patches,
      configMaps,
      deletes,
      lists,
      events,
      reviews,
      access,
      owners,
      projections,
      namespaces,
      paths,
    ]) {
      suite(served)
    }
  })
}
