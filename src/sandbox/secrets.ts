import type { Cause } from '../core/failure.ts'
import { isObject, type Json, own, textAt } from '../core/json.ts'
import { fromBase64, toBase64, utf8 } from '../core/text.ts'
import { goError } from './metadata.ts'
import { dataKeyProblems } from './names.ts'
import type { StoredObject } from './objects.ts'
import { forbiddenValue, invalidValue, requiredValue, tooLong } from './status.ts'

const MAX_DATA_BYTES = 1024 * 1024
const IMMUTABLE = 'field is immutable when `immutable` is set'

type Entries = readonly (readonly [string, string])[]

/** What is stored of a Secret: `stringData` laid over `data`, values in canonical base64, type `Opaque` by default. */
export function secretContent(sent: Json): { readonly content: Json } | { readonly problem: string } {
  const data = readData(mapAt(sent, 'data'))
  if ('problem' in data) return data
  const texts = Object.entries(mapAt(sent, 'stringData'))
  if (!texts.every(([, value]) => typeof value === 'string'))
    return { problem: goError('Secret', 'stringData') }
  const encoded = texts.map(([key, value]) => [key, toBase64(utf8(String(value)))] as const)
  const entries = [...data.entries, ...encoded]
  const immutable = own(sent, 'immutable') ?? undefined
  return {
    content: {
      ...(entries.length === 0 ? {} : { data: Object.fromEntries(entries) }),
      ...(immutable === undefined ? {} : { immutable }),
      type: textAt(sent, 'type') || 'Opaque',
    },
  }
}

function readData(data: Json): { readonly entries: Entries } | { readonly problem: string } {
  const entries: [string, string][] = []
  for (const [key, value] of Object.entries(data)) {
    if (value !== null && typeof value !== 'string') return { problem: goError('Secret', 'data') }
    const canonical = canonicalBase64(value ?? '')
    if (typeof canonical !== 'string') return { problem: `illegal base64 data at input byte ${canonical.at}` }
    entries.push([key, canonical])
  }
  return { entries }
}

const mapAt = (sent: Json, field: string): Json => {
  const value = own(sent, field)
  return isObject(value) ? value : {}
}

/** Go's decoder skips line breaks, insists on padding and forgives stray bits in the last character. */
function canonicalBase64(text: string): string | { readonly at: number } {
  const compact = text.replace(/[\r\n]/g, '')
  const wrong = compact.search(/[^A-Za-z0-9+/=]/)
  if (wrong !== -1) return { at: wrong }
  const bytes = compact.length % 4 === 0 ? fromBase64(compact) : undefined
  return bytes === undefined ? { at: compact.length - (compact.length % 4 || 4) } : toBase64(bytes)
}

const dataOf = ({ data }: StoredObject): Json => (isObject(data) ? data : {})

/** `ValidateSecret` and `ValidateSecretUpdate` of `k8s.io/kubernetes/pkg/apis/core/validation`. */
export function secretCauses(secret: StoredObject, old: StoredObject | undefined): readonly Cause[] {
  const data = dataOf(secret)
  const bytes = Object.values(data).reduce<number>((sum, value) => sum + decodedLength(String(value)), 0)
  return [
    ...(old === undefined ? [] : changeCauses(secret, old)),
    ...Object.keys(data).flatMap((key) =>
      dataKeyProblems(key).map((problem) => invalidValue(`data[${key}]`, key, problem)),
    ),
    ...(bytes > MAX_DATA_BYTES ? [tooLong('data', MAX_DATA_BYTES)] : []),
    ...basicAuthCauses(secret, data),
  ]
}

const decodedLength = (base64: string): number => (base64.replace(/=+$/, '').length * 3) >> 2

/** One of the two keys is enough, and either may be empty. */
function basicAuthCauses({ type }: StoredObject, data: Json): readonly Cause[] {
  const hasOne = Object.hasOwn(data, 'username') || Object.hasOwn(data, 'password')
  if (type !== 'kubernetes.io/basic-auth' || hasOne) return []
  return [requiredValue('data[username]'), requiredValue('data[password]')]
}

function changeCauses(secret: StoredObject, old: StoredObject): readonly Cause[] {
  const causes = secret.type === old.type ? [] : [invalidValue('type', secret.type, 'field is immutable')]
  if (old.immutable !== true) return causes
  return [
    ...causes,
    ...(secret.immutable === true ? [] : [forbiddenValue('immutable', IMMUTABLE)]),
    ...(sameData(dataOf(secret), dataOf(old)) ? [] : [forbiddenValue('data', IMMUTABLE)]),
  ]
}

const sameData = (a: Json, b: Json): boolean =>
  Object.keys(a).length === Object.keys(b).length &&
  Object.entries(a).every(([key, value]) => own(b, key) === value)
