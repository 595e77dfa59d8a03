import { inTurns } from '../../src/core/in-turns.ts'
import type { Admin, Anything } from '../contract/kube.ts'
import type { FleetRelease } from './convert-fleet.ts'

export const OLD = '1.0.0'
const NEW = '2.0.0'

const FLUX = '/apis/helm.toolkit.fluxcd.io/v2'
const POLL_MS = 300
const AT_ONCE = 12
/** Upgrades that nobody has asked for, in one look: those who ask do not wait for all of them. */
const UPGRADES = 60

/** Flux, and the charts that it applies. */
export interface Flux {
  /** From now on the charts are the new ones. */
  readonly switchCharts: () => void
  /** Whether every release has what its chart and its annotations ask for, at the last look. */
  readonly isSettled: () => boolean
  /** What the engine of a release has as password of `backup`, in base64, since its chart was rendered last. */
  readonly backups: ReadonlyMap<string, string>
  readonly stop: () => Promise<void>
}

export const releasePath = ({ namespace, name }: Pick<FleetRelease, 'namespace' | 'name'>): string =>
  `${FLUX}/namespaces/${namespace}/helmreleases/${name}`
export const secretPath = ({ namespace, name }: Pick<FleetRelease, 'namespace' | 'name'>): string =>
  `/api/v1/namespaces/${namespace}/secrets/${name}-credentials`
export const rolePath = ({ namespace, name }: Pick<FleetRelease, 'namespace' | 'name'>): string =>
  `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles/${name}-dashboard-resources`

/**
 * Looks at all releases again and again, and does with each what helm-controller does
 * (`github.com/fluxcd/helm-controller/internal/controller/helmrelease_controller.go`): a suspended one is taken note of and
 * left alone, one that asks for it is upgraded once for each token, and so is one with another chart or other values.
 */
export function startFlux(admin: Admin, fleet: readonly FleetRelease[]): Flux {
  const byPath = new Map(fleet.map((each) => [releasePath(each), each]))
  const applied = new Map<string, string>()
  const backups = new Map<string, string>()
  const stop = new AbortController()
  let chart = OLD
  let isSettled = false

  const chartOf = ({ oddity }: FleetRelease) => (oddity === 'never switches' ? OLD : chart)

  async function reconcile(object: Anything): Promise<boolean> {
    const path = releasePath(object.metadata)
    const of = byPath.get(path)
    if (of === undefined) return false
    const { generation, annotations = {} } = object.metadata
    const { status = {}, spec } = object
    const token = annotations['reconcile.fluxcd.io/requestedAt']
    const next = {
      ...status,
      observedGeneration: generation,
      ...(token && { lastHandledReconcileAt: token }),
    }
    if (!spec.suspend && needsUpgrade(of, object, token)) {
      await render(of)
      applied.set(path, JSON.stringify(spec.values))
      Object.assign(next, upgraded(of, status, token))
    }
    const isSame = JSON.stringify(next) === JSON.stringify(status)
    if (!isSame) {
      await admin.change(`${path}/status`, (current) => {
        current.status = next
      })
    }
    return !isSame
  }

  function needsUpgrade(
    of: FleetRelease,
    { spec, status = {}, metadata }: Anything,
    token?: string,
  ): boolean {
    const isForced =
      token !== undefined &&
      token === metadata.annotations['reconcile.fluxcd.io/forceAt'] &&
      token !== status.lastHandledForceAt
    const before = applied.get(releasePath(of))
    if (of.oddity === 'never deployed' || of.oddity === 'seeded before') {
      if (chartOf(of) === OLD) return false
    }
    return (
      isForced ||
      status.history?.[0]?.chartVersion !== chartOf(of) ||
      (before !== undefined && before !== JSON.stringify(spec.values))
    )
  }

  const upgraded = (of: FleetRelease, status: Anything, token?: string) => ({
    ...statusOf(of, chartOf(of), (status.history?.[0]?.version ?? 0) + 1),
    ...(token && { lastHandledForceAt: token }),
  })

  /** The new chart closes what the old one has opened, and takes the passwords that are left from the Secret. */
  async function render(of: FleetRelease): Promise<void> {
    const isNew = chartOf(of) === NEW
    if (isNew && of.oddity !== 'a Role stays') await admin.remove(rolePath(of)).catch(() => {})
    const secret = await admin.find(secretPath(of))
    if (secret === undefined) return
    if (of.kind === 'ClickHouse') backups.set(releasePath(of), secret.data.backup)
    if (!isNew || of.oddity === 'a label stays') return
    await admin.change(secretPath(of), ({ metadata }) => {
      metadata.labels['internal.cozystack.io/tenantresource'] = 'false'
    })
  }

  /** Those who ask for something first. */
  function chosenOf(items: readonly Anything[]): readonly Anything[] {
    const asks = ({ metadata, spec }: Anything) => spec.suspend === true || metadata.annotations !== undefined
    const behind = items.filter((each) => !asks(each) && each.status?.history?.[0]?.chartVersion !== chart)
    const rest = new Set(behind.slice(UPGRADES))
    return items
      .filter((each) => !rest.has(each))
      .toSorted((one, other) => Number(asks(other)) - Number(asks(one)))
  }

  async function loop(): Promise<void> {
    while (!stop.signal.aborted) {
      const { items } = await admin.get(`${FLUX}/helmreleases`)
      const chosen = chosenOf(items)
      let changed = 0
      await inTurns(
        chosen,
        AT_ONCE,
        async (object) => {
          if (await reconcile(object).catch(() => true)) changed += 1
        },
        stop.signal,
      )
      isSettled = changed === 0 && chosen.length === items.length
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  }

  const running = loop()
  return {
    switchCharts: () => {
      chart = NEW
      isSettled = false
    },
    isSettled: () => isSettled,
    backups,
    stop: () => {
      stop.abort()
      return running
    },
  }
}

/** What Flux says of a release that it has upgraded. */
export const statusOf = (
  { name, namespace }: Pick<FleetRelease, 'namespace' | 'name'>,
  chartVersion: string,
  version: number,
) => ({
  conditions: ['Ready', 'Released'].map((type) => ({
    type,
    status: 'True',
    reason: 'UpgradeSucceeded',
    message: `Helm upgrade succeeded for release ${namespace}/${name}`,
    lastTransitionTime: '2026-10-01T08:00:00Z',
  })),
  history: [
    {
      name,
      namespace,
      version,
      status: 'deployed',
      chartName: 'chart',
      chartVersion,
      digest: 'sha256:0',
      configDigest: 'sha256:0',
      firstDeployed: '2026-10-01T08:00:00Z',
      lastDeployed: '2026-10-01T08:00:00Z',
    },
  ],
})
