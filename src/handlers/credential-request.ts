import type { Cause } from '../core/failure.ts'
import { isObject, own, parseJson } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { duplicateFields } from '../core/strict-json.ts'
import { cutBytes, fromUtf8 } from '../core/text.ts'
import type { CallerPreconditions } from '../credentials/issue.ts'
import { parseQuery, type Query } from './query.ts'

/** A mint or a revoke, as it came. */
export interface CredentialRequest {
  readonly preconditions: CallerPreconditions
  readonly dryRun: boolean
  /** Fields that `fieldValidation=Warn` lets pass. */
  readonly warnings: readonly string[]
}

/** The object that a path names; a body that names another is refused. */
interface Addressed {
  readonly apiVersion: string
  readonly name: string
  readonly namespace: string
}

const KIND = 'CredentialRequest'
/** A body of wrong fields only must not come back as an answer that is larger than itself. */
const MAX_NAMED = 10
const MAX_NAMED_BYTES = 256

/** Every field there is: an object of known fields, or a value that is looked at elsewhere. */
interface Shape {
  readonly [field: string]: Shape | 'any'
}

const SHAPE: Shape = {
  apiVersion: 'any',
  kind: 'any',
  metadata: { name: 'any', namespace: 'any', creationTimestamp: 'any' },
  spec: { preconditions: { resourceVersion: 'any', uid: 'any' } },
  // Typed clients send an empty one; nothing in it is read.
  status: 'any',
}

/**
 * Reads query and body of a mint or revoke. An empty body means no preconditions. Fails with `request_malformed` (400)
 * for what is no CredentialRequest of this object, and with `request_invalid` (422) for a precondition that would
 * match anything.
 */
export function parseCredentialRequest(
  parameters: URLSearchParams,
  body: Uint8Array,
  addressed: Addressed,
): Result<CredentialRequest> {
  const query = parseQuery(parameters)
  if (!query.ok) return query
  if (body.length === 0) return ok({ preconditions: {}, dryRun: query.value.dryRun, warnings: [] })

  const text = fromUtf8(body)
  const parsed = text === undefined ? undefined : parseJson(text)
  if (text === undefined || !isObject(parsed)) return malformed('the body must be a JSON object')
  const checked = checkIdentity(parsed, addressed)
  if (!checked.ok) return checked

  const strict = checkFields(parsed, text, query.value)
  if (!strict.ok) return strict
  const preconditions = readPreconditions(parsed, addressed.name)
  if (!preconditions.ok) return preconditions
  return ok({ preconditions: preconditions.value, dryRun: query.value.dryRun, warnings: strict.value })
}

const malformed = (message: string): Result<never> => fail({ reason: 'request_malformed', message })

function checkIdentity(body: unknown, { apiVersion, name, namespace }: Addressed): Result<undefined> {
  const given = { apiVersion: own(body, 'apiVersion'), kind: own(body, 'kind') }
  if (given.kind !== undefined && given.kind !== KIND) return malformed(`kind must be ${KIND}`)
  if (given.apiVersion !== undefined && given.apiVersion !== apiVersion) {
    return malformed(`apiVersion must be ${apiVersion}`)
  }
  const metadata = own(body, 'metadata')
  if (metadata !== undefined && metadata !== null && !isObject(metadata)) {
    return malformed('metadata must be an object')
  }
  for (const [field, expected] of [
    ['name', name],
    ['namespace', namespace],
  ] as const) {
    const value = own(metadata, field) ?? ''
    if (value !== '' && value !== expected) return malformed(`metadata.${field} does not match the URL`)
  }
  return ok(undefined)
}

/** In kube-apiserver's words (KEP-2885). Answers the warnings. */
function checkFields(body: unknown, text: string, { fieldValidation }: Query): Result<readonly string[]> {
  if (fieldValidation === 'Ignore') return ok([])
  const problems = [
    ...unknownFields(body, SHAPE, '').map((path) => `unknown field ${quoted(path)}`),
    ...duplicateFields(text).map((path) => `duplicate field ${quoted(path)}`),
  ].slice(0, MAX_NAMED)
  if (problems.length === 0 || fieldValidation === 'Warn') return ok(problems)
  return malformed(`strict decoding error: ${problems.join(', ')}`)
}

const quoted = (path: string): string => JSON.stringify(cutBytes(path, MAX_NAMED_BYTES))

function unknownFields(value: unknown, shape: Shape, prefix: string): readonly string[] {
  if (!isObject(value)) return []
  return Object.keys(value).flatMap((field) => {
    const path = `${prefix}${field}`
    const inner = Object.hasOwn(shape, field) ? shape[field] : undefined
    if (inner === undefined) return [path]
    return inner === 'any' ? [] : unknownFields(own(value, field), inner, `${path}.`)
  })
}

/** `null` is no precondition, as for the pointers of `metav1.Preconditions`: a typed client that leaves one out may send it so. */
function readPreconditions(body: unknown, name: string): Result<CallerPreconditions> {
  const spec = own(body, 'spec') ?? {}
  if (!isObject(spec)) return malformed('spec must be an object')
  const given = own(spec, 'preconditions') ?? {}
  if (!isObject(given)) return malformed('spec.preconditions must be an object')

  const preconditions = new Map<string, string>()
  for (const field of ['resourceVersion', 'uid']) {
    const value = own(given, field) ?? undefined
    if (typeof value === 'string') preconditions.set(field, value)
    else if (value !== undefined) return malformed(`spec.preconditions.${field} must be a string`)
  }
  const causes = [...preconditions].flatMap(([field, value]) => refuseAnything(field, value))
  if (causes.length > 0) return fail({ reason: 'request_invalid', name, causes })
  return ok(Object.fromEntries(preconditions))
}

/** The Kubernetes API takes these for "whatever is there" (API conventions, "Concurrency Control and Consistency"): no guard at all. */
function refuseAnything(field: string, value: string): readonly Cause[] {
  if (value !== '' && !(field === 'resourceVersion' && value === '0')) return []
  const message = `Invalid value: ${JSON.stringify(value)}: matches any version; leave the field out, or send what a get showed`
  return [{ reason: 'FieldValueInvalid', field: `spec.preconditions.${field}`, message }]
}
