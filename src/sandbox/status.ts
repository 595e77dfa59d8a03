import type { Cause } from '../core/failure.ts'
import { qualifiedName, type ResourceType } from './objects.ts'

/** A refusal as kube-apiserver words it (`k8s.io/apimachinery/pkg/api/errors`). */
export interface Refusal {
  readonly code: number
  /** Absent where the API server hands on an error of its own that has none. */
  readonly reason?: string
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
  /** `metadata.continue` of a 410. */
  readonly continue?: string
}

export type Refused = { readonly ok: false; readonly refusal: Refusal }
export type Outcome<T> = { readonly ok: true; readonly value: T } | Refused

type Named = Pick<ResourceType, 'group' | 'plural'>

const refused = (code: number, reason: string, message: string, details?: Refusal['details']): Refused => ({
  ok: false,
  refusal: { code, reason, message, ...(details === undefined ? {} : { details }) },
})

const detailsOf = ({ group, plural }: Named, name: string) => ({
  ...(name === '' ? {} : { name }),
  ...(group === '' ? {} : { group }),
  kind: plural,
})

export const badRequest = (message: string): Refused => refused(400, 'BadRequest', message)

/** A JSON patch that does not apply: it says neither where nor why. */
export const unapplied = (): Refused =>
  refused(422, 'Invalid', 'the server rejected our request due to an error in our request', {})

/** An error that no layer of the API server has turned into a Status: 500 without a reason. */
export const internalError = (message: string): Refused => ({ ok: false, refusal: { code: 500, message } })

export const unauthorized = (): Refused => refused(401, 'Unauthorized', 'Unauthorized')

export const notFound = (type: Named, name: string): Refused =>
  refused(404, 'NotFound', `${qualifiedName(type)} "${name}" not found`, detailsOf(type, name))

/** A path below a group that is served. */
export const unknownResource = (): Refused =>
  refused(404, 'NotFound', 'the server could not find the requested resource', {})

export const methodNotAllowed = (): Refused =>
  refused(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {})

export const alreadyExists = (type: Named, name: string, prefix = ''): Refused =>
  refused(
    409,
    'AlreadyExists',
    `${prefix}${qualifiedName(type)} "${name}" already exists`,
    detailsOf(type, name),
  )

export const conflict = (type: Named, name: string, why: string): Refused =>
  refused(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualifiedName(type)} "${name}": ${why}`,
    detailsOf(type, name),
  )

export const forbidden = (type: Named, name: string, why: string, causes?: readonly Cause[]): Refused =>
  refused(403, 'Forbidden', `${qualifiedName(type)}${name === '' ? '' : ` "${name}"`} is forbidden: ${why}`, {
    ...detailsOf(type, name),
    ...(causes === undefined ? {} : { causes }),
  })

export const forbiddenPath = (username: string, verb: string, path: string): Refused =>
  refused(403, 'Forbidden', `forbidden: User ${JSON.stringify(username)} cannot ${verb} path "${path}"`, {})

/** `kind` is a kind, or a resource where the API server puts one there. */
export function invalid(
  { group, kind }: { readonly group: string; readonly kind: string },
  name: string,
  causes: readonly Cause[],
): Refused {
  const texts = [...new Set(causes.map(({ field, message }) => `${field}: ${message}`))]
  const problems = texts.length === 1 ? texts.join('') : `[${texts.join(', ')}]`
  const what = group === '' ? kind : `${kind}.${group}`
  return refused(422, 'Invalid', `${what} ${JSON.stringify(name)} is invalid: ${problems}`, {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    ...(kind === '' ? {} : { kind }),
    causes,
  })
}

export const unsupportedMediaType = (message: string, details?: Refusal['details']): Refused =>
  refused(415, 'UnsupportedMediaType', message, details)

/** `next` goes on with what is there now (`k8s.io/apiserver/pkg/storage/etcd3/errors.go`). */
export const expired = (next: string): Refused => ({
  ok: false,
  refusal: {
    code: 410,
    reason: 'Expired',
    message:
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    continue: next,
  },
})

// One problem with one field (`k8s.io/apimachinery/pkg/util/validation/field`).

export const invalidValue = (field: string, value: unknown, problem: string): Cause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${JSON.stringify(value)}: ${problem}`,
  field,
})

export const requiredValue = (field: string, problem = ''): Cause => ({
  reason: 'FieldValueRequired',
  message: problem === '' ? 'Required value' : `Required value: ${problem}`,
  field,
})

export const forbiddenValue = (field: string, problem: string): Cause => ({
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${problem}`,
  field,
})

export const unsupportedValue = (field: string, value: unknown, supported: readonly string[]): Cause => ({
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported.map((each) => `"${each}"`).join(', ')}`,
  field,
})

export const tooLong = (field: string, maxBytes: number): Cause => ({
  reason: 'FieldValueTooLong',
  message: `Too long: may not be more than ${maxBytes} bytes`,
  field,
})

export const answer = (body: unknown, status = 200): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } })

export const answerText = (text: string, status = 200): Response =>
  new Response(text, { status, headers: { 'Content-Type': 'text/plain; charset=utf-8' } })

export const answerRefused = ({ refusal }: Refused): Response => {
  const { continue: next, ...status } = refusal
  const metadata = next === undefined ? {} : { continue: next }
  return answer({ kind: 'Status', apiVersion: 'v1', metadata, status: 'Failure', ...status }, refusal.code)
}
