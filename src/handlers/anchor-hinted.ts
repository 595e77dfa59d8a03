import type { Failure } from '../core/failure.ts'
import { inTurns } from '../core/in-turns.ts'
import { createOnceAtATime } from '../core/once-at-a-time.ts'
import type { Result } from '../core/result.ts'
import { type Declaration, declarationKey, declaredName } from '../trust-anchor/declaration.ts'
import type { AnchorOutcome } from '../trust-anchor/outcome.ts'
import type { AnchorServices } from '../trust-anchor/services.ts'
import { anchorServicesWith } from './anchor-services.ts'
import type { Hint } from './hint.ts'
import type { Hinted } from './hinted.ts'
import { listingOnce } from './listing-once.ts'
import type { Exchange, Services } from './services.ts'

/** What was hinted at in a namespace. */
interface Waiting {
  readonly secrets: ReadonlySet<string>
  /** Whether TenantProjections were, which have been looked at themselves. */
  readonly hasProjections: boolean
  /** Whether one of them is gone. */
  readonly isGone: boolean
}

type Wait = readonly [namespace: string, more: Partial<Waiting>]

const NOTHING: Waiting = { secrets: new Set(), hasProjections: false, isGone: false }

export type ReconcileHinted = (exchange: Exchange, hints: readonly Hint[]) => Promise<Hinted>

/** How many declarations, or namespaces, at a time. */
const CONCURRENCY = 4
/** How long what is done for one request may go on. */
const ALIVE_MS = 60_000

/**
 * Publishes what the TenantProjections declare that are hinted at, and whatever the Secrets that are hinted at have to do
 * with, as a source or as what is published; then whoever it concerns that a TenantProjection came, changed or went. A burst
 * of hints at one declaration costs two looks at it; one at the objects of a namespace, where each installation of a chart
 * writes some, two looks at what that namespace declares.
 */
export function createReconcileHinted(services: Services): ReconcileHinted {
  const { now } = services.deps
  const onceEach = createOnceAtATime<Result<AnchorOutcome>>({ now, aliveMs: ALIVE_MS })
  const oncePerNamespace = createOnceAtATime<Hinted>({ now, aliveMs: ALIVE_MS })
  /** What nobody has looked at, by namespace: whoever looks takes all of it. */
  const waiting = createWaiting()

  const reconcileEach = async (anchors: AnchorServices, declarations: readonly Declaration[]) => {
    const failures: Failure[] = []
    /** Namespaces of what is not there any more. */
    const gone = new Set<string>()
    let goesOn = false
    await inTurns(declarations, CONCURRENCY, async (declaration) => {
      const done = await onceEach(declarationKey(declaration), () =>
        reconcileOne(services, anchors, declaration),
      )
      if (done === undefined) goesOn = true
      else if (!done.ok) failures.push(done.failure)
      else if (done.value.is === 'absent') gone.add(declaration.namespace)
    })
    return { goesOn, failures, gone }
  }

  const lookIn = async (anchors: AnchorServices, namespace: string): Promise<Hinted> => {
    const found = await declarationsOf(services, anchors, { namespace, ...waiting.take(namespace) })
    const done = await reconcileEach(anchors, found.declarations)
    return { goesOn: done.goesOn, failures: [...found.failures, ...done.failures] }
  }

  return async (exchange, hints) => {
    const anchors = anchorServicesWith(services, exchange.request.afterResponse)
    if (anchors === undefined) return { goesOn: false, failures: [] }
    const { gone, ...first } = await reconcileEach(anchors, projectionsIn(hints))
    const done: Hinted[] = [first]
    const namespaces = new Set<string>()
    for (const [namespace, more] of waitsIn(hints, gone)) {
      namespaces.add(namespace)
      waiting.add(namespace, more)
    }
    await inTurns([...namespaces], CONCURRENCY, async (namespace) => {
      const looked = await oncePerNamespace(namespace, () => lookIn(anchors, namespace))
      done.push(looked ?? { goesOn: true, failures: [] })
    })
    return { goesOn: done.some(({ goesOn }) => goesOn), failures: done.flatMap(({ failures }) => failures) }
  }
}

function createWaiting() {
  const byNamespace = new Map<string, Waiting>()
  return {
    add: (namespace: string, more: Partial<Waiting>): void => {
      const { secrets, hasProjections, isGone } = byNamespace.get(namespace) ?? NOTHING
      byNamespace.set(namespace, {
        secrets: new Set([...secrets, ...(more.secrets ?? [])]),
        hasProjections: hasProjections || more.hasProjections === true,
        isGone: isGone || more.isGone === true,
      })
    },
    take: (namespace: string): Waiting => {
      const taken = byNamespace.get(namespace) ?? NOTHING
      byNamespace.delete(namespace)
      return taken
    },
  }
}

/** What there is to look at for each hint, once the TenantProjections have been looked at themselves. */
const waitsIn = (hints: readonly Hint[], gone: ReadonlySet<string>): readonly Wait[] =>
  hints.flatMap((hint): readonly Wait[] => {
    if (hint.is === 'secret') return [[hint.target.namespace, { secrets: new Set([hint.target.secret]) }]]
    if (hint.is !== 'projection') return []
    const { namespace } = hint.target
    return [[namespace, { hasProjections: true, isGone: gone.has(namespace) }]]
  })

function projectionsIn(hints: readonly Hint[]): readonly Declaration[] {
  const byKey = new Map<string, Declaration>()
  for (const hint of hints) {
    if (hint.is !== 'projection') continue
    const declaration: Declaration = { leg: 'projection', ...hint.target }
    byKey.set(declarationKey(declaration), declaration)
  }
  return [...byKey.values()]
}

async function reconcileOne(
  { deadlineMs, deps }: Services,
  anchors: AnchorServices,
  declaration: Declaration,
): Promise<Result<AnchorOutcome>> {
  // Certificates are parsed by code that a mint never needs.
  const { reconcile } = await import('../trust-anchor/reconcile.ts')
  const done = await reconcile(anchors, declaration, { signal: AbortSignal.timeout(deadlineMs) })
  if (!done.ok) {
    const { leg, namespace } = declaration
    const name = declaredName(declaration)
    deps.log('warn', 'anchor_failed', { leg, namespace, name, failure: done.failure.reason })
  }
  return done
}

/** What any of this has to do with, each once. Lists are read once for all of it. */
async function declarationsOf(
  { deadlineMs, deps }: Services,
  anchors: AnchorServices,
  { namespace, secrets, hasProjections, isGone }: Waiting & { readonly namespace: string },
): Promise<{ readonly declarations: readonly Declaration[]; readonly failures: readonly Failure[] }> {
  const listing = { ...anchors, kube: listingOnce(anchors.kube) }
  const byKey = new Map<string, Declaration>()
  const failures: Failure[] = []
  const signal = AbortSignal.timeout(deadlineMs)
  const take = (found: Result<readonly Declaration[]>, about: { readonly secret?: string }) => {
    if (found.ok) for (const each of found.value) byKey.set(declarationKey(each), each)
    else {
      failures.push(found.failure)
      deps.log('warn', 'anchor_failed', { namespace, ...about, failure: found.failure.reason })
    }
  }
  const { declarationsAbout } = await import('../trust-anchor/hinted.ts')
  await inTurns([...secrets], CONCURRENCY, async (secret) => {
    take(await declarationsAbout(listing, { namespace, secret }, { signal }), { secret })
  })
  if (hasProjections) {
    const { declarationsBeside } = await import('../trust-anchor/beside.ts')
    take(await declarationsBeside(listing, { namespace, isGone }, { signal }), {})
  }
  return { declarations: [...byKey.values()], failures }
}
