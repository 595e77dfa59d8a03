/** What the API answers (`credentials` in the group that it serves, `v1alpha1`). */

/** Who has the password of an account, and since when. Never the password. */
export interface Credential {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly resourceVersion: string
  }
  readonly spec: {
    readonly application: { readonly apiGroup: string; readonly kind: string; readonly name: string }
    readonly user: string
  }
  readonly status: {
    /** `origin`: `NotIssued`, `Migrated`, `Minted` or `Revoked`. */
    readonly password: { readonly origin: string; readonly at?: string; readonly by?: string }
    /** The newest ten operations, the newest first. */
    readonly history: readonly { readonly operation: string; readonly at: string; readonly by: string }[]
  }
}

export interface CredentialList {
  /** `continue` is there while there are more. */
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: readonly Credential[]
}

/** What a revoke and a dry run answer: no password. `issuedAt` is UTC, to the second. */
export interface Issued {
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly status: {
    readonly username: string
    readonly password?: string
    readonly issuedAt: string
  }
}

/** What a mint answers. It is stored; the old password works until the engine has applied the new one. */
export interface Minted extends Issued {
  /** The password is shown this once. */
  readonly status: Issued['status'] & { readonly password: string }
}

/** What a sync answers: a `metav1.Status` that counts what was done, a cause each. */
export interface Synced {
  readonly message: string
  readonly details: { readonly causes: readonly { readonly reason: string; readonly message: string }[] }
}
