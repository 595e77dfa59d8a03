import type { Access } from '../core/failure.ts'
import type { Result } from '../core/result.ts'
import type {
  ApplicationDefinition,
  HelmRelease,
  KubeEvent,
  Namespace,
  Secret,
  StoredSecret,
  TenantProjection,
} from './objects.ts'

/** Every call carries a time limit of its own; `signal` ends it earlier. */
export interface CallOptions {
  readonly signal?: AbortSignal
}

export interface WriteOptions extends CallOptions {
  /** `dryRun=All`: every check of the API server, nothing stored. */
  readonly dryRun?: boolean
}

/** A write happens only to the very object that was read. Neither may be empty or `"0"`. */
export interface Preconditions {
  readonly uid: string
  readonly resourceVersion: string
}

export interface ListOptions extends CallOptions {
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly limit?: number
  readonly continue?: string
}

export interface Page<T> {
  readonly items: readonly T[]
  readonly resourceVersion: string
  readonly continue?: string
}

export interface TokenReviewStatus {
  readonly authenticated: unknown
  readonly audiences: readonly string[]
  readonly user: {
    readonly username: string
    readonly uid: string | undefined
    readonly groups: readonly string[]
    readonly extra: Readonly<Record<string, readonly string[]>>
  }
  /** For the log only. */
  readonly error: string | undefined
}

/** Who an access review is about: `authorization.k8s.io/v1` SubjectAccessReviewSpec. */
export interface Subject {
  readonly username: string
  readonly uid: string | undefined
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** What this function asks of a cluster, and nothing else. A write is sent once and never again. */
export interface Kube {
  /** Undefined when the API server says NotFound about this very name. */
  readonly getHelmRelease: (
    namespace: string,
    name: string,
    options?: CallOptions,
  ) => Promise<Result<HelmRelease | undefined>>
  /** All of them, page by page; one failed page fails the call. */
  readonly listDefinitions: (options?: CallOptions) => Promise<Result<readonly ApplicationDefinition[]>>
  readonly getSecret: (
    namespace: string,
    name: string,
    options?: CallOptions,
  ) => Promise<Result<StoredSecret | undefined>>
  /** One page of the Secrets of a namespace, or of all when it is undefined. Fails with `kube_expired` as lists do. */
  readonly listSecrets: (
    namespace: string | undefined,
    options: ListOptions,
  ) => Promise<Result<Page<StoredSecret>>>
  readonly createSecret: (secret: Secret, options?: WriteOptions) => Promise<Result<StoredSecret>>
  /** A PUT guarded by the object's own uid and resourceVersion. */
  readonly updateSecret: (secret: StoredSecret, options?: WriteOptions) => Promise<Result<StoredSecret>>
  readonly deleteSecret: (
    namespace: string,
    name: string,
    preconditions: Preconditions,
    options?: WriteOptions,
  ) => Promise<Result<undefined>>
  readonly getNamespace: (name: string, options?: CallOptions) => Promise<Result<Namespace | undefined>>
  /** One page of the HelmReleases of a namespace, or of all when it is undefined. Fails with `kube_expired` as lists do. */
  readonly listHelmReleases: (
    namespace: string | undefined,
    options: ListOptions,
  ) => Promise<Result<Page<HelmRelease>>>
  readonly getTenantProjection: (
    namespace: string,
    name: string,
    options?: CallOptions,
  ) => Promise<Result<TenantProjection | undefined>>
  /** One page of the TenantProjections of a namespace, or of all when it is undefined. Fails as lists do. */
  readonly listTenantProjections: (
    namespace: string | undefined,
    options: ListOptions,
  ) => Promise<Result<Page<TenantProjection>>>
  /** A PUT of the status alone, guarded by the object's own uid and resourceVersion. */
  readonly updateTenantProjectionStatus: (
    projection: TenantProjection,
    options?: WriteOptions,
  ) => Promise<Result<TenantProjection>>
  /** `data` of a ConfigMap. */
  readonly getConfigMap: (
    namespace: string,
    name: string,
    options?: CallOptions,
  ) => Promise<Result<Readonly<Record<string, unknown>> | undefined>>
  readonly reviewToken: (
    token: string,
    audiences: readonly string[],
    options?: CallOptions,
  ) => Promise<Result<TokenReviewStatus>>
  /** True only when the answer says `allowed: true`. */
  readonly reviewAccess: (subject: Subject, access: Access, options?: CallOptions) => Promise<Result<boolean>>
  /** The username of this function itself (`authentication.k8s.io/v1` SelfSubjectReview). */
  readonly whoAmI: (options?: CallOptions) => Promise<Result<string>>
  /** One try. An Event that has been there already is no failure. */
  readonly createEvent: (event: KubeEvent, atMilliseconds: number) => Promise<Result<undefined>>
  /** Whether the API server answers at all. */
  readonly ping: (options?: CallOptions) => Promise<Result<undefined>>
}
