/** One reason inside a `Status`: `metav1.StatusCause`. */
export interface Cause {
  /** `FieldValueInvalid`, `FieldValueRequired`, … as in `k8s.io/apimachinery/pkg/apis/meta/v1`. */
  readonly reason: string
  readonly message: string
  readonly field?: string
}

/** What an access review asked about. */
export interface Access {
  readonly verb: string
  readonly group: string
  /** That of our own API when it is left out. */
  readonly version?: string
  readonly resource: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
}

/**
 * How a call to the Kubernetes API failed. The API's own texts are kept out: an admission message may quote the
 * object that it refused, stored value included.
 */
export type KubeFailure =
  /** 409 on an update or a delete: a precondition did not hold. */
  | { readonly reason: 'kube_conflict' }
  /** 409 AlreadyExists on a create. */
  | { readonly reason: 'kube_exists' }
  /** 404 with a Status on a write. (A read answers undefined instead.) */
  | { readonly reason: 'kube_absent' }
  /** 403: our own rights do not cover the call, or an admission plug-in or webhook refused it. */
  | { readonly reason: 'kube_forbidden'; readonly call: string }
  | { readonly reason: 'kube_quota_exceeded'; readonly quota: string }
  | { readonly reason: 'kube_namespace_terminating'; readonly namespace: string }
  | { readonly reason: 'kube_immutable' }
  /** 400 or 422: the API server or a policy found the object wrong. */
  | { readonly reason: 'kube_invalid'; readonly call: string }
  /** 410: the `continue` token of a list is too old. */
  | { readonly reason: 'kube_expired' }
  | { readonly reason: 'kube_overloaded'; readonly retryAfterSeconds: number | undefined }
  /** 401: our own credentials were refused. */
  | { readonly reason: 'kube_unauthenticated' }
  /** 404 without a Status: the group version is not served. */
  | { readonly reason: 'kube_not_served'; readonly groupVersion: string }
  /** 5xx, a redirect, or an answer that makes no sense. */
  | { readonly reason: 'kube_error'; readonly call: string; readonly code: number }
  /** No answer. `sent` is false only when the request certainly never left (the connection was refused). */
  | {
      readonly reason: 'kube_unreachable'
      readonly call: string
      readonly why: string
      readonly sent: boolean
    }
  | { readonly reason: 'kube_timeout'; readonly call: string }

/** Every expected way a request can fail. Add an arm and `handlers/status.ts` stops compiling. */
export type Failure =
  | KubeFailure
  // What was sent.
  | { readonly reason: 'request_malformed'; readonly message: string }
  | { readonly reason: 'request_invalid'; readonly name: string; readonly causes: readonly Cause[] }
  | { readonly reason: 'media_type_unsupported'; readonly contentType: string }
  /** `served` when it is not what a get or list serves. */
  | { readonly reason: 'not_acceptable'; readonly served?: readonly string[] }
  | { readonly reason: 'body_too_large'; readonly maxBytes: number }
  | { readonly reason: 'route_unknown' }
  | { readonly reason: 'method_not_allowed'; readonly allow: readonly string[]; readonly message: string }
  // Who asked.
  | { readonly reason: 'unauthenticated'; readonly why: string; readonly hint?: string }
  | { readonly reason: 'issuer_unavailable'; readonly issuer: string; readonly why: string }
  | { readonly reason: 'forbidden'; readonly user: string; readonly access: Access }
  /** The name of an `Impersonate-*` header that means nothing. */
  | { readonly reason: 'impersonation_unknown'; readonly header: string }
  // What it was asked about.
  | { readonly reason: 'credential_not_found'; readonly name: string; readonly why?: string }
  | { readonly reason: 'account_invalid'; readonly name: string; readonly causes: readonly Cause[] }
  | { readonly reason: 'accounts_collide'; readonly name: string; readonly usernames: readonly string[] }
  | { readonly reason: 'release_terminating'; readonly name: string; readonly release: string }
  | {
      readonly reason: 'credential_changed'
      readonly name: string
      readonly message: string
      /** The preconditions of the caller that did not hold: `uid`, `resourceVersion`. */
      readonly fields: readonly string[]
    }
  | {
      readonly reason: 'secret_foreign'
      readonly name: string
      readonly secret: string
      readonly why: string
    }
  | { readonly reason: 'secret_terminating'; readonly name: string; readonly secret: string }
  | { readonly reason: 'secret_immutable'; readonly name: string; readonly secret: string }
  /** `why` when there is such a HelmRelease, and nothing to be done for it. */
  | { readonly reason: 'release_not_found'; readonly release: string; readonly why?: string }
  /** Something in the cluster stood in the way of a sync, which may have done a part. */
  | { readonly reason: 'sync_refused'; readonly release: string; readonly cause: KubeFailure }
  /** The name of a TenantProjection. */
  | { readonly reason: 'projection_not_found'; readonly name: string }
  /** Something in the cluster stood in the way of publishing what a TenantProjection declares. */
  | { readonly reason: 'anchor_refused'; readonly name: string; readonly cause: KubeFailure }
  // The platform's own mistakes.
  | {
      readonly reason: 'definition_wrong'
      readonly definition: string
      readonly field: string
      readonly problem: string
    }
  | {
      readonly reason: 'definitions_ambiguous'
      readonly kind: string
      readonly definitions: readonly string[]
    }
  | { readonly reason: 'value_not_canonical'; readonly format: string }
  /** A webhook that a definition names: unreachable, late, or its answer is not what was asked for. */
  | {
      readonly reason: 'webhook_failed'
      readonly definition: string
      readonly field: string
      readonly why: string
    }
  // How a write ended.
  | {
      readonly reason: 'write_refused'
      readonly name: string
      readonly cause: KubeFailure
      readonly leftoverDeleted: boolean
    }
  /** Something changed the value on its way into the cluster: what is stored there checks no password that anybody knows. */
  | {
      readonly reason: 'value_altered'
      readonly name: string
      readonly secret: string
      readonly dryRun: boolean
    }
  | { readonly reason: 'outcome_unknown'; readonly name: string; readonly leftoverDeleted: boolean }
  | { readonly reason: 'caller_gone' }
