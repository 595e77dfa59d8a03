import { setTimeout as sleep } from 'node:timers/promises'
import type { ControlPlane } from './control-plane.ts'

const TRIES = 20

/**
 * Waits until every definition of a resource is served. kubectl gives up at once on one that is so new that it has no
 * status yet: asked again. Throws what it complains about in the end.
 */
export async function definitionsAreServed(
  { kubectl }: Pick<ControlPlane, 'kubectl'>,
  tries = TRIES,
): Promise<void> {
  const wait = ['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']
  const { code, stderr } = await kubectl(wait)
  if (code === 0) return
  if (tries <= 1 || !stderr.includes('accessor error')) {
    throw new Error(`the definitions were not accepted: ${stderr.trim()}`)
  }
  await sleep(100)
  await definitionsAreServed({ kubectl }, tries - 1)
}
