import { type Json, textAt } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import { type KubeResult, senseless } from './call.ts'
import type { Preconditions, WriteOptions } from './kube.ts'
import { pathOf } from './names.ts'

export const releasePath = (namespace: string, name: string): string =>
  pathOf('apis', 'helm.toolkit.fluxcd.io', 'v2', 'namespaces', namespace, 'helmreleases', name)

/** An empty version, or "0", means "whatever is there" to the API server: a bug here would overwrite in silence. */
export function guard({ uid, resourceVersion }: Preconditions): void {
  const isUnset = (value: string) => value === '' || value === '0'
  if (isUnset(uid) || isUnset(resourceVersion)) {
    throw new TypeError('a write needs the uid and the resourceVersion that were read')
  }
}

export const writeOf = ({ dryRun, signal }: WriteOptions) => ({
  signal,
  query: { dryRun: dryRun ? 'All' : undefined, fieldManager: 'mintonce' },
})

/** The object of an answer, as it was parsed, when it is of this kind and says which object it is. */
export function stored(
  answer: KubeResult<Json>,
  kind: string,
  what: string,
  isUnversioned = false,
): KubeResult<Json> {
  if (!answer.ok) return answer
  const { value } = answer
  const isIdentified =
    textAt(value, 'kind') === kind &&
    !!textAt(value, 'metadata', 'name') &&
    !!textAt(value, 'metadata', 'uid') &&
    (isUnversioned || !!textAt(value, 'metadata', 'resourceVersion'))
  return isIdentified ? answer : fail(senseless(what))
}

export function optional<T>(answer: KubeResult<T>): KubeResult<T | undefined> {
  return !answer.ok && answer.failure.reason === 'kube_absent' ? ok(undefined) : answer
}
