import type { Failure } from '../core/failure.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { CallOptions } from '../k8s/kube.ts'
import { isDnsLabel, isDnsSubdomain } from '../k8s/names.ts'
import { type Declaration, declaredName } from './declaration.ts'
import { releaseEvent } from './events.ts'
import type { AnchorOutcome } from './outcome.ts'
import { judgeProjection } from './projection-leg.ts'
import { judgeLabelled, judgeNamed } from './release-legs.ts'
import type { AnchorServices } from './services.ts'
import { withStatus } from './status.ts'
import { isReady, type Verdict } from './verdict.ts'

/** Whoever loses a race reads everything again: what it knew is not what is there. */
const MAX_ROUNDS = 5

/** Others were there first. */
const RACED: ReadonlySet<Failure['reason']> = new Set<Failure['reason']>([
  'kube_conflict',
  'kube_exists',
  'kube_absent',
])

/**
 * Publishes the CA that a declaration names as `<release>.tenant-ca`, which holds nothing but certificates. Idempotent: a
 * second one writes nothing. A source that is missing, refused or not ready yet is an outcome and no failure, and leaves
 * what is published as it is. Fails with a `kube_*` reason, `kube_conflict` when others write all the time included; of a
 * write that is refused the declaration says so first.
 */
export async function reconcile(
  services: AnchorServices,
  declaration: Declaration,
  options: CallOptions = {},
): Promise<Result<AnchorOutcome>> {
  if (!isDnsLabel(declaration.namespace) || !isDnsSubdomain(declaredName(declaration))) {
    return ok({ is: 'absent' })
  }
  const progress = { wrote: false }
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    const done = await once(services, declaration, progress, options)
    if (done.ok || !RACED.has(done.failure.reason)) return done
  }
  return fail({ reason: 'kube_conflict' })
}

/** What was written stays written when the rest of a round is lost. */
interface Progress {
  wrote: boolean
}

async function once(
  services: AnchorServices,
  declaration: Declaration,
  progress: Progress,
  options: CallOptions,
): Promise<Result<AnchorOutcome>> {
  const looked = await look(services, declaration, options)
  if (!looked.ok) return looked
  if (looked.value === undefined) return ok({ is: 'absent' })
  const { release, verdict, conclude } = looked.value
  progress.wrote ||= verdict.wrote
  const done = { ...verdict, wrote: progress.wrote }
  const concluded = await conclude(done)
  if (!concluded.ok) return concluded
  for (const event of done.events) services.emit(event)
  return done.failure === undefined ? ok(outcomeOf(done, release)) : fail(done.failure)
}

interface Looked {
  readonly release: string | undefined
  readonly verdict: Verdict
  /** Says what came of it where whoever declared it looks. */
  readonly conclude: (done: Verdict) => Promise<Result<undefined>>
}

const outcomeOf = (done: Verdict, release: string | undefined): AnchorOutcome => ({
  is: 'done',
  ready: isReady(done),
  reason: done.reason,
  message: done.message,
  release,
  wrote: done.wrote,
})

async function look(
  services: AnchorServices,
  declaration: Declaration,
  options: CallOptions,
): Promise<Result<Looked | undefined>> {
  return declaration.leg === 'projection'
    ? lookAtProjection(services, declaration, options)
    : lookAtRelease(services, declaration, options)
}

async function lookAtProjection(
  services: AnchorServices,
  declaration: Extract<Declaration, { leg: 'projection' }>,
  options: CallOptions,
): Promise<Result<Looked | undefined>> {
  const judged = await judgeProjection(services, declaration, options)
  if (!judged.ok || judged.value === undefined) return judged as Result<undefined>
  const { projection, release, verdict } = judged.value
  const conclude = async (done: Verdict): Promise<Result<undefined>> => {
    const next = withStatus(projection, done, services.deps.now())
    if (next === undefined) return ok(undefined)
    const updated = await services.kube.updateTenantProjectionStatus(next, options)
    return updated.ok ? ok(undefined) : updated
  }
  return ok({ release, verdict, conclude })
}

async function lookAtRelease(
  services: AnchorServices,
  declaration: Exclude<Declaration, { leg: 'projection' }>,
  options: CallOptions,
): Promise<Result<Looked | undefined>> {
  const spoken = await (declaration.leg === 'label'
    ? judgeLabelled(services, declaration, options)
    : judgeNamed(services, declaration, options))
  if (!spoken.ok || spoken.value === undefined) return spoken as Result<undefined>
  const { name, release, verdict } = spoken.value
  const conclude = async (done: Verdict): Promise<Result<undefined>> => {
    const event = release === undefined ? undefined : releaseEvent(release, done, declaration.leg)
    if (event !== undefined) services.emit(event)
    return ok(undefined)
  }
  return ok({ release: name, verdict, conclude })
}
