import type { Context } from 'hono'
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
import type { AppEnv, Services } from './services.ts'

export type ReconcileHinted = (c: Context<AppEnv>, hints: readonly Hint[]) => Promise<Hinted>

/** How many declarations, or namespaces, at a time. */
const CONCURRENCY = 4
/** How long what is done for one request may go on. */
const ALIVE_MS = 60_000

/**
 * Publishes what the TenantProjections declare that are hinted at, and whatever the Secrets that are hinted at have to do
 * with, as a source or as what is published. A burst of hints at one declaration costs two looks at it; one at the
 * Secrets of a namespace, where each installation of a chart writes some, two looks at what that namespace declares.
 */
export function createReconcileHinted(services: Services): ReconcileHinted {
  const { now } = services.deps
  const onceEach = createOnceAtATime<Result<AnchorOutcome>>({ now, aliveMs: ALIVE_MS })
  const oncePerNamespace = createOnceAtATime<Hinted>({ now, aliveMs: ALIVE_MS })
  /** Secrets that nobody has looked at, by namespace: whoever looks takes all of them. */
  const waiting = new Map<string, Set<string>>()

  const reconcileEach = async (anchors: AnchorServices, declarations: readonly Declaration[]) => {
    const failures: Failure[] = []
    let goesOn = false
    await inTurns(declarations, CONCURRENCY, async (declaration) => {
      const done = await onceEach(declarationKey(declaration), () =>
        reconcileOne(services, anchors, declaration),
      )
      if (done === undefined) goesOn = true
      else if (!done.ok) failures.push(done.failure)
    })
    return { goesOn, failures }
  }

  const lookAtSecrets = async (anchors: AnchorServices, namespace: string): Promise<Hinted> => {
    const secrets = [...(waiting.get(namespace) ?? [])]
    waiting.delete(namespace)
    const found = await declarationsOf(services, anchors, { namespace, secrets })
    const done = await reconcileEach(anchors, found.declarations)
    return { goesOn: done.goesOn, failures: [...found.failures, ...done.failures] }
  }

  return async (c, hints) => {
    const anchors = anchorServicesWith(services, c.env.afterResponse)
    if (anchors === undefined) return { goesOn: false, failures: [] }
    const done: Hinted[] = [await reconcileEach(anchors, projectionsIn(hints))]
    const namespaces = new Set<string>()
    for (const hint of hints) {
      if (hint.is !== 'secret') continue
      const { namespace, secret } = hint.target
      namespaces.add(namespace)
      waiting.set(namespace, (waiting.get(namespace) ?? new Set()).add(secret))
    }
    await inTurns([...namespaces], CONCURRENCY, async (namespace) => {
      const looked = await oncePerNamespace(namespace, () => lookAtSecrets(anchors, namespace))
      done.push(looked ?? { goesOn: true, failures: [] })
    })
    return { goesOn: done.some(({ goesOn }) => goesOn), failures: done.flatMap(({ failures }) => failures) }
  }
}

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

/** What any of these Secrets has to do with, each once. Lists are read once for all of them. */
async function declarationsOf(
  { deadlineMs, deps }: Services,
  anchors: AnchorServices,
  { namespace, secrets }: { readonly namespace: string; readonly secrets: readonly string[] },
): Promise<{ readonly declarations: readonly Declaration[]; readonly failures: readonly Failure[] }> {
  const { declarationsAbout } = await import('../trust-anchor/hinted.ts')
  const listing = { ...anchors, kube: listingOnce(anchors.kube) }
  const byKey = new Map<string, Declaration>()
  const failures: Failure[] = []
  const signal = AbortSignal.timeout(deadlineMs)
  await inTurns(secrets, CONCURRENCY, async (secret) => {
    const found = await declarationsAbout(listing, { namespace, secret }, { signal })
    if (found.ok) for (const each of found.value) byKey.set(declarationKey(each), each)
    else {
      failures.push(found.failure)
      deps.log('warn', 'anchor_failed', { namespace, secret, failure: found.failure.reason })
    }
  })
  return { declarations: [...byKey.values()], failures }
}
