import { isObject, type Json, own, parseJson, textAt } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { fromUtf8 } from '../core/text.ts'
import type { Review } from '../credentials/verdict.ts'
import { isDnsLabel, isDnsSubdomain } from '../k8s/names.ts'
import type { HelmRelease, ObjectMeta } from '../k8s/objects.ts'

export const REVIEW_VERSION = 'admission.k8s.io/v1'
const FLUX_GROUP = 'helm.toolkit.fluxcd.io'

/** A review, and its uid, which the answer repeats. */
export interface AskedReview {
  readonly uid: string
  /** Undefined when it is about another resource, a subresource, or an operation that changes nothing. */
  readonly review: Review | undefined
}

/** Values are compared and walked through by recursion; nobody's values are as deep. */
const MAX_DEPTH = 500
const MAX_UID_LENGTH = 128
const UID = /^[A-Za-z0-9._:-]+$/

/**
 * `AdmissionReview` of `k8s.io/api/admission/v1`, as far as it is looked at. Anybody may have sent it: what becomes a
 * part of a URL or a mark on an object is checked here. Fails with `request_malformed`, and quotes nothing. `isNamed`
 * refuses one without a name: a generated one is there before a validating webhook is asked
 * (`k8s.io/apiserver/pkg/registry/generic/registry/store.go`, `create`), and not before a mutating one is.
 */
export function parseReview(
  bytes: Uint8Array,
  { isNamed }: { readonly isNamed: boolean },
): Result<AskedReview> {
  const text = fromUtf8(bytes)
  const sent = text === undefined ? undefined : parseJson(text)
  if (text === undefined || !isObject(sent)) return malformed('is no JSON object')
  if (isTooDeep(text)) return malformed(`nests deeper than ${MAX_DEPTH}`)
  if (textAt(sent, 'apiVersion') !== REVIEW_VERSION || textAt(sent, 'kind') !== 'AdmissionReview') {
    return malformed(`is no AdmissionReview of ${REVIEW_VERSION}`)
  }
  const request = own(sent, 'request')
  const uid = textAt(request, 'uid')
  if (!isObject(request) || uid === undefined || !isUid(uid)) return malformed('has no request.uid')
  const operation = textAt(request, 'operation')
  if (!isOfReleases(request) || !isOperation(operation)) return ok({ uid, review: undefined })
  const review = reviewOf(request, operation)
  if (review.ok && isNamed && review.value.name === '') return malformed('names no object')
  return review.ok ? ok({ uid, review: review.value }) : review
}

const malformed = (what: string) =>
  fail({ reason: 'request_malformed', message: `the body ${what}` }) satisfies Result<never>

const isUid = (uid: string): boolean => uid.length <= MAX_UID_LENGTH && UID.test(uid)

/** `kube-apiserver` converts other versions before it asks (`matchPolicy: Equivalent`). */
const isOfReleases = (request: Json): boolean =>
  textAt(request, 'resource', 'group') === FLUX_GROUP &&
  textAt(request, 'resource', 'resource') === 'helmreleases' &&
  (textAt(request, 'subResource') ?? '') === ''

const isOperation = (text: string | undefined): text is Review['operation'] =>
  text === 'CREATE' || text === 'UPDATE' || text === 'DELETE'

function reviewOf(request: Json, operation: Review['operation']): Result<Review> {
  const namespace = textAt(request, 'namespace') ?? ''
  if (!isDnsLabel(namespace)) return malformed('has no request.namespace')
  const by = textAt(request, 'userInfo', 'username') ?? ''
  if (by === '') return malformed('has no request.userInfo.username')
  const object = releaseIn(request, 'object', namespace)
  if (!object.ok) return object
  const oldObject = releaseIn(request, 'oldObject', namespace)
  if (!oldObject.ok) return oldObject
  const isMissing = {
    CREATE: object.value === undefined,
    UPDATE: object.value === undefined || oldObject.value === undefined,
    DELETE: oldObject.value === undefined,
  }[operation]
  if (isMissing) return malformed(`has not the objects of a ${operation}`)
  const name = nameIn([
    textAt(request, 'name'),
    ...[object, oldObject].map((each) => each.value?.metadata.name),
  ])
  if (name === undefined || (name === '' && operation !== 'CREATE')) return malformed('names no object')
  return ok({
    operation,
    namespace,
    name,
    object: operation === 'DELETE' ? undefined : named(object.value, name),
    oldObject: operation === 'CREATE' ? undefined : named(oldObject.value, name),
    dryRun: own(request, 'dryRun') === true,
    by,
  })
}

/** The one name that is given; empty when there is none yet. Undefined for several, and for what is no name. */
function nameIn(names: readonly (string | undefined)[]): string | undefined {
  const [name = '', ...others] = new Set(names.filter((each) => each !== undefined && each !== ''))
  return others.length === 0 && (name === '' || isDnsSubdomain(name)) ? name : undefined
}

const named = (release: HelmRelease | undefined, name: string): HelmRelease | undefined =>
  release === undefined ? undefined : { ...release, metadata: { ...release.metadata, name } }

/** Undefined for null. Labels, marks and the rest are read one by one, with readers that take nothing for granted. */
function releaseIn(
  request: Json,
  field: 'object' | 'oldObject',
  namespace: string,
): Result<HelmRelease | undefined> {
  const object = own(request, field) ?? undefined
  if (object === undefined) return ok(undefined)
  const metadata = own(object, 'metadata')
  const spec = own(object, 'spec') ?? {}
  const uid = textAt(metadata, 'uid') ?? ''
  const isRelease =
    isObject(metadata) &&
    isObject(spec) &&
    (uid === '' || isUid(uid)) &&
    (textAt(metadata, 'namespace') ?? namespace) === namespace
  if (!isRelease) return malformed(`has no HelmRelease of its namespace in request.${field}`)
  const release: ObjectMeta = { name: textAt(metadata, 'name') ?? '', namespace }
  return ok({ metadata: { ...(metadata as unknown as ObjectMeta), ...release, uid }, spec })
}

/** Whether brackets outside of strings nest too deep. The text must have passed `JSON.parse`, or this is not linear. */
function isTooDeep(text: string): boolean {
  let depth = 0
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]]/gs)) {
    if (token === '{' || token === '[') depth += 1
    else if (token === '}' || token === ']') depth -= 1
    if (depth > MAX_DEPTH) return true
  }
  return false
}
