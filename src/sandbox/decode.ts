import { isObject, type Json, own, parseJson, textAt } from '../core/json.ts'
import { ok } from '../core/result.ts'
import { configMapContent } from './config-maps.ts'
import { eventContent } from './events.ts'
import { readMetadata } from './metadata.ts'
import { apiVersionOf, type Metadata, type ResourceType, type SentObject } from './objects.ts'
import { quotaContent } from './quotas.ts'
import { bindingContent, roleContent } from './roles.ts'
import { secretContent } from './secrets.ts'
import { badRequest, invalid, invalidValue, type Outcome, unsupportedMediaType } from './status.ts'

type Kinded = Pick<ResourceType, 'group' | 'version' | 'kind'>

/** Turns the fields of a built-in type into what is stored, or says why they are none. */
type ReadContent = (sent: Json) => { readonly content: Json } | { readonly problem: string }

const READERS: Readonly<Record<string, ReadContent>> = {
  Secret: secretContent,
  ConfigMap: configMapContent,
  Event: eventContent,
  ResourceQuota: quotaContent,
  ClusterRole: roleContent,
  Role: roleContent,
  ClusterRoleBinding: bindingContent,
  RoleBinding: bindingContent,
}

const JSON_TYPES = ['', 'application/json']

/** The JSON value of a request's body. A client that says nothing about its type is taken at its word. */
export function decodeBody(kind: string, text: string, contentType: string): Outcome<unknown> {
  if (!JSON_TYPES.includes(mediaTypeOf(contentType))) {
    return unsupportedMediaType(
      'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf',
    )
  }
  return parseBody(kind, text)
}

export const mediaTypeOf = (contentType: string): string =>
  (contentType.split(';')[0] ?? '').trim().toLowerCase()

export function parseBody(kind: string, text: string): Outcome<unknown> {
  const parsed = parseJson(text)
  if (parsed === undefined) return unrecognized(kind, 'json parse error: unexpected end of JSON input')
  return ok(parsed)
}

const unrecognized = (kind: string, why: string): Outcome<never> =>
  badRequest(
    `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; ${why}`,
  )

/** The body as an object of the type that the path names. */
export function decodeObject(type: ResourceType, namespace: string, body: unknown): Outcome<SentObject> {
  const sent = body === null && !type.custom ? {} : body
  if (!isObject(sent))
    return unrecognized(type.kind, 'json parse error: json: cannot unmarshal into Go value')
  const kinded = type.custom ? checkCustomKind(type, sent) : checkBuiltInKind(type, sent)
  if (!kinded.ok) return kinded

  const meta = readMetadata(own(sent, 'metadata'))
  if ('problem' in meta) return cannotHandle(type, type.kind, meta.problem)
  const read = READERS[type.kind]?.(sent) ?? { content: pick(sent, type.fields) }
  if ('problem' in read) return cannotHandle(type, type.kind, read.problem)
  if (meta.metadata.namespace !== undefined && meta.metadata.namespace !== namespace) {
    return badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  return ok({ ...kinded.value, metadata: within(namespace, meta.metadata), ...read.content })
}

const within = (namespace: string, metadata: Partial<Metadata>): Partial<Metadata> =>
  namespace === '' ? metadata : { ...metadata, namespace }

const pick = (sent: Json, fields: readonly string[]): Json =>
  Object.fromEntries(
    fields.filter((field) => own(sent, field) !== undefined).map((field) => [field, sent[field]]),
  )

/** A built-in type fills in what is not said. */
export function checkBuiltInKind(
  type: Kinded,
  sent: Json,
): Outcome<{ readonly apiVersion: string; readonly kind: string }> {
  const apiVersion = textAt(sent, 'apiVersion') || apiVersionOf(type)
  const kind = textAt(sent, 'kind') || type.kind
  if (kind === type.kind && apiVersion === apiVersionOf(type)) return ok({ apiVersion, kind })
  const version = apiVersion.split('/').at(-1) ?? ''
  return cannotHandle(
    { ...type, version },
    kind,
    `no kind "${kind}" is registered for version "${apiVersion}"`,
  )
}

function checkCustomKind(
  type: ResourceType,
  sent: Json,
): Outcome<{ readonly apiVersion: string; readonly kind: string }> {
  const apiVersion = textAt(sent, 'apiVersion') ?? ''
  const kind = textAt(sent, 'kind') ?? ''
  if (kind === '') {
    return badRequest(
      `the object provided is unrecognized (must be of type ${type.kind}): Object 'Kind' is missing`,
    )
  }
  if (apiVersion !== apiVersionOf(type)) {
    return badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${apiVersionOf(type)})`,
    )
  }
  if (kind === type.kind) return ok({ apiVersion, kind })
  const name = textAt(sent, 'metadata', 'name') ?? ''
  return invalid({ ...type, kind }, name, [invalidValue('kind', kind, `must be ${type.kind}`)])
}

const cannotHandle = (type: Kinded, sentKind: string, why: string): Outcome<never> =>
  badRequest(`${sentKind} in version "${type.version}" cannot be handled as a ${type.kind}: ${why}`)
