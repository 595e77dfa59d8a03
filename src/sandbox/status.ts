import { qualifiedName, type ResourceType } from './objects.ts'

/** A refusal as kube-apiserver words it; thrown inside the sandbox and turned into an answer at its door. */
export interface Refusal {
  readonly refusal: true
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
}

export const isRefusal = (value: unknown): value is Refusal =>
  typeof value === 'object' && value !== null && 'refusal' in value

const refusal = (code: number, reason: string, message: string, details?: Refusal['details']): Refusal => ({
  refusal: true,
  code,
  reason,
  message,
  ...(details === undefined ? {} : { details }),
})

type Named = Pick<ResourceType, 'group' | 'plural'>

const detailsOf = ({ group, plural }: Named, name: string) => ({
  ...(name === '' ? {} : { name }),
  ...(group === '' ? {} : { group }),
  kind: plural,
})

export const badRequest = (message: string): Refusal => refusal(400, 'BadRequest', message)
export const internalError = (message: string): Refusal => refusal(500, 'InternalError', message)

export const notFound = (type: Named, name: string): Refusal =>
  refusal(404, 'NotFound', `${qualifiedName(type)} "${name}" not found`, detailsOf(type, name))

export const alreadyExists = (type: Named, name: string): Refusal =>
  refusal(409, 'AlreadyExists', `${qualifiedName(type)} "${name}" already exists`, detailsOf(type, name))

export const conflict = (type: Named, name: string, why: string): Refusal =>
  refusal(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualifiedName(type)} "${name}": ${why}`,
    detailsOf(type, name),
  )

export const forbidden = (type: Named, name: string, why: string, causes?: readonly object[]): Refusal =>
  refusal(403, 'Forbidden', `${qualifiedName(type)}${name === '' ? '' : ` "${name}"`} is forbidden: ${why}`, {
    ...detailsOf(type, name),
    ...(causes === undefined ? {} : { causes }),
  })

export const invalid = (type: ResourceType, name: string, field: string, problem: string): Refusal =>
  refusal(
    422,
    'Invalid',
    `${qualifiedName({ ...type, plural: type.kind })} "${name}" is invalid: ${field}: ${problem}`,
    {
      name,
      ...(type.group === '' ? {} : { group: type.group }),
      kind: type.kind,
      causes: [{ reason: 'FieldValueInvalid', message: problem, field }],
    },
  )

export const expired = (): Refusal =>
  refusal(
    410,
    'Expired',
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
  )

export const unauthorized = (): Refusal => refusal(401, 'Unauthorized', 'Unauthorized')
export const methodNotAllowed = (): Refusal =>
  refusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource')
export const unsupportedMediaType = (): Refusal =>
  refusal(415, 'UnsupportedMediaType', 'the body of the request was in an unknown format')

export const answer = (body: unknown, status = 200): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } })

export const refuse = ({ code, reason, message, details = {} }: Refusal): Response =>
  answer(
    { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details, code },
    code,
  )
