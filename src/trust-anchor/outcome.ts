/** What there is to say about a declaration: the reason of the condition Ready. */
export type AnchorReason =
  /** Published, or nothing to publish. The only one that is good. */
  | 'Projected'
  | 'NoRelease'
  | 'MultipleCACertProjections'
  | 'UnsupportedProjectionType'
  | 'ReleaseContested'
  /** A declaration of a stronger leg is there for the release. */
  | 'Superseded'
  | 'SourceInvalid'
  | 'SourceNotFound'
  | 'SourceNotReady'
  | 'SourceRejected'
  | 'ProjectionCollision'
  | 'ProjectionTerminating'
  | 'ProjectionImmutable'
  | 'CanonicalNameOccupied'
  /** By the API server: a quota, a policy, a webhook, rights. The look fails as well. */
  | 'WriteRefused'

export type AnchorOutcome =
  /** There is no such declaration (any more). */
  | { readonly is: 'absent' }
  | {
      readonly is: 'done'
      /** Whether the CA is published, or nothing was asked for. */
      readonly ready: boolean
      readonly reason: AnchorReason
      /** For people: no byte of any value is in it. */
      readonly message: string
      /** Undefined when the declaration names none. */
      readonly release: string | undefined
      /** Whether a Secret was created, updated or deleted. A status does not count. */
      readonly wrote: boolean
    }
