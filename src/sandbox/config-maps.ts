import type { Cause } from '../core/failure.ts'
import { isObject, isSameJson, type Json, own } from '../core/json.ts'
import { fromBase64, utf8 } from '../core/text.ts'
import { goError } from './metadata.ts'
import { dataKeyProblems } from './names.ts'
import type { StoredObject } from './objects.ts'
import { forbiddenValue, invalidValue, tooLong } from './status.ts'

const MAX_DATA_BYTES = 1024 * 1024
const IMMUTABLE = 'field is immutable when `immutable` is set'
const MAPS = ['data', 'binaryData'] as const

/** What is stored of a ConfigMap: maps of texts, of which empty ones are none. */
export function configMapContent(sent: Json): { readonly content: Json } | { readonly problem: string } {
  const maps: [string, Json][] = []
  for (const field of MAPS) {
    const value = own(sent, field) ?? {}
    if (!isObject(value)) return { problem: goError('ConfigMap', field) }
    const entries = Object.entries(value).map(([key, text]) => [key, text ?? ''] as const)
    if (!entries.every(([, text]) => typeof text === 'string')) {
      return { problem: goError('ConfigMap', field) }
    }
    if (entries.length > 0) maps.push([field, Object.fromEntries(entries)])
  }
  const immutable = own(sent, 'immutable') ?? undefined
  return { content: { ...Object.fromEntries(maps), ...(immutable === undefined ? {} : { immutable }) } }
}

const mapOf = (object: StoredObject, field: string): Json => {
  const value = own(object, field)
  return isObject(value) ? value : {}
}

/** `ValidateConfigMap` and `ValidateConfigMapUpdate` of `k8s.io/kubernetes/pkg/apis/core/validation`. */
export function configMapCauses(map: StoredObject, old: StoredObject | undefined): readonly Cause[] {
  const data = mapOf(map, 'data')
  const binary = mapOf(map, 'binaryData')
  const bytes =
    Object.values(data).reduce<number>((sum, text) => sum + utf8(String(text)).length, 0) +
    Object.values(binary).reduce<number>((sum, text) => sum + (fromBase64(String(text))?.length ?? 0), 0)
  return [
    ...(old?.immutable === true ? changeCauses(map, old) : []),
    ...MAPS.flatMap((field) =>
      Object.keys(mapOf(map, field)).flatMap((key) =>
        dataKeyProblems(key).map((problem) => invalidValue(`${field}[${key}]`, key, problem)),
      ),
    ),
    ...Object.keys(data)
      .filter((key) => Object.hasOwn(binary, key))
      .map((key) => invalidValue(`data[${key}]`, key, 'duplicate of key present in binaryData')),
    // An empty path, as it is printed.
    ...(bytes > MAX_DATA_BYTES ? [tooLong('[]', MAX_DATA_BYTES)] : []),
  ]
}

const changeCauses = (map: StoredObject, old: StoredObject): readonly Cause[] => [
  ...(map.immutable === true ? [] : [forbiddenValue('immutable', IMMUTABLE)]),
  ...MAPS.filter((field) => !isSameJson(mapOf(map, field), mapOf(old, field))).map((field) =>
    forbiddenValue(field, IMMUTABLE),
  ),
]
