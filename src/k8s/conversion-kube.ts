import type { Result } from '../core/result.ts'
import type { CallOptions, ListOptions, Page, Preconditions, WriteOptions } from './kube.ts'
import type { HelmRelease, ObjectMeta } from './objects.ts'

/** One step of a JSON patch (RFC 6902). Paths are JSON pointers (RFC 6901). */
export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/** `v1`; `data` at most 1 MiB in all (`k8s.io/kubernetes/pkg/apis/core/validation`, ValidateConfigMap). */
interface ConfigMap {
  readonly apiVersion: 'v1'
  readonly kind: 'ConfigMap'
  readonly metadata: ObjectMeta
  readonly data?: Readonly<Record<string, string>>
}

export interface StoredConfigMap extends ConfigMap {
  readonly metadata: ObjectMeta & { readonly uid: string; readonly resourceVersion: string }
}

/** `rbac.authorization.k8s.io/v1`, as far as we look into it: what its rules are is not checked. */
export interface Role {
  readonly metadata: ObjectMeta
  readonly rules?: unknown
}

/** `v1`. */
export interface Pod {
  readonly metadata: ObjectMeta
  readonly spec?: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
}

/**
 * What only the conversion asks of a cluster, beside what the function asks (`Kube`). Fails as that one does. The function
 * that is deployed knows none of it, and has no right to it.
 */
export interface ConversionKube {
  /** The whole object, so that it can be written back. Undefined when it is not there. */
  readonly getConfigMap: (
    namespace: string,
    name: string,
    options?: CallOptions,
  ) => Promise<Result<StoredConfigMap | undefined>>
  readonly createConfigMap: (configMap: ConfigMap, options?: WriteOptions) => Promise<Result<StoredConfigMap>>
  /** A PUT guarded by the object's own uid and resourceVersion. */
  readonly updateConfigMap: (
    configMap: StoredConfigMap,
    options?: WriteOptions,
  ) => Promise<Result<StoredConfigMap>>
  /**
   * Changes the very HelmRelease that was read: a patch of any other one, or of a later version, does not apply and is
   * `kube_conflict`. So is an operation on what is not there.
   */
  readonly patchHelmRelease: (
    namespace: string,
    name: string,
    read: Preconditions,
    operations: readonly JsonPatchOperation[],
    options?: WriteOptions,
  ) => Promise<Result<HelmRelease>>
  readonly listRoles: (namespace: string, options: ListOptions) => Promise<Result<Page<Role>>>
  readonly listPods: (namespace: string, options: ListOptions) => Promise<Result<Page<Pod>>>
}

/** A JSON pointer to this place: RFC 6901, section 3. */
export const pointerTo = (...path: readonly string[]): string =>
  path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
