/** The objects that we read and write, as far as we look into them. Fields that we do not know are kept. */

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly OwnerReference[]
  readonly finalizers?: readonly string[]
}

export interface Secret {
  readonly apiVersion: 'v1'
  readonly kind: 'Secret'
  readonly metadata: ObjectMeta
  readonly type?: string
  readonly immutable?: boolean
  /** Base64 values. */
  readonly data?: Readonly<Record<string, string>>
}

/** A Secret as the API server stored it. */
export interface StoredSecret extends Secret {
  readonly metadata: ObjectMeta & { readonly uid: string; readonly resourceVersion: string }
}

export interface Namespace {
  readonly metadata: ObjectMeta
}

/** `helm.toolkit.fluxcd.io/v2`. */
export interface HelmRelease {
  readonly metadata: ObjectMeta & { readonly uid: string }
  readonly spec: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
}

/** `cozystack.io/v1alpha1`. */
export interface ApplicationDefinition {
  readonly metadata: ObjectMeta
  readonly spec: Readonly<Record<string, unknown>>
}

/** `internal.cozystack.io/v1alpha1`. */
export interface TenantProjection {
  readonly apiVersion: 'internal.cozystack.io/v1alpha1'
  readonly kind: 'TenantProjection'
  readonly metadata: ObjectMeta & { readonly uid: string; readonly resourceVersion: string }
  readonly spec: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
}

/** `events.k8s.io/v1`. */
export interface KubeEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly action: string
  /** At most 1,024 bytes reach the API server; a longer one is cut. */
  readonly note: string
  /** Said again and again as long as it is so: one Event for as long as the API server keeps it. */
  readonly isStanding?: true
  readonly regarding: {
    readonly apiVersion: string
    readonly kind: string
    readonly namespace: string
    readonly name: string
    readonly uid: string
  }
}
