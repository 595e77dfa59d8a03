import type { Cause, Failure } from '../core/failure.ts'

/** `metav1.Status` of a failure, and the headers that go with it. */
export interface StatusAnswer {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly details?: Details
  readonly headers?: Readonly<Record<string, string>>
}

export interface Details {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly causes?: readonly Cause[]
  readonly retryAfterSeconds?: number
}

export type Row<R extends Failure['reason']> = (
  failure: Extract<Failure, { readonly reason: R }>,
  group: string,
) => StatusAnswer

/** The Credential that a failure is about, as `details` names it: by the plural of its resource. */
export const about = (name: string, group: string, causes?: readonly Cause[]): { details: Details } => ({
  details: { name, group, kind: 'credentials', ...(causes === undefined ? {} : { causes }) },
})

export const internal = (message: string): StatusAnswer => ({ code: 500, reason: 'InternalError', message })
export const conflict = (
  message: string,
  name: string,
  group: string,
  causes?: readonly Cause[],
): StatusAnswer => ({
  code: 409,
  reason: 'Conflict',
  message,
  ...about(name, group, causes),
})

export const unavailable = (message: string): StatusAnswer => ({
  code: 503,
  reason: 'ServiceUnavailable',
  message,
})

export function invalid(name: string, group: string, causes: readonly Cause[]): StatusAnswer {
  const problems = causes.map(({ field, message }) =>
    field === undefined ? message : `${field}: ${message}`,
  )
  return {
    code: 422,
    reason: 'Invalid',
    message: `CredentialRequest.${group} "${name}" is invalid: ${problems.join(', ')}`,
    details: { name, group, kind: 'CredentialRequest', causes },
  }
}
