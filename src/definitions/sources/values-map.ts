import { isObject, own } from '../../core/json.ts'
import type { Declared, SourceAnswer } from '../rules.ts'
import { PATH_PATTERN, shapeOf, valueAt } from '../values.ts'
import { ownerOf } from './owner.ts'
import type { SourceKind } from './source.ts'

/** `{kind: ValuesMap, path: users}`: the keys of the map under a path of the release's values. `null` is no entry. */
export const valuesMap: SourceKind = {
  kind: 'ValuesMap',
  fields: ['path', 'owner'],
  parse(entry, field) {
    const path = own(entry, 'path')
    if (typeof path !== 'string' || !PATH_PATTERN.test(path)) {
      return { ok: false, field: `${field}.path`, problem: 'must be dotted names, such as users' }
    }
    const owner = ownerOf(entry)
    if (owner === undefined) {
      return { ok: false, field: `${field}.owner`, problem: 'must be tenant or platform' }
    }
    return {
      ok: true,
      source: {
        kind: 'ValuesMap',
        resolve: async ({ values }) => {
          const map = valueAt(values, path) ?? {}
          if (isObject(map)) return { ok: true, value: entriesOf(map, path, owner) }
          const message = `must be a map of users, and is ${shapeOf(map)}`
          return {
            ok: false,
            cause: { reason: 'FieldValueTypeInvalid', field: `spec.values.${path}`, message },
          }
        },
      },
    }
  },
}

function entriesOf(
  map: Readonly<Record<string, unknown>>,
  path: string,
  owner: Declared['owner'],
): SourceAnswer {
  const names = Object.keys(map).filter((username) => own(map, username) !== null)
  const isEntry = (username: string) => isObject(own(map, username))
  return {
    accounts: names.filter(isEntry).map((username) => ({ username, owner })),
    malformed: names
      .filter((username) => !isEntry(username))
      .map((username) => ({
        username,
        cause: {
          reason: 'FieldValueTypeInvalid',
          field: `spec.values.${path}[${JSON.stringify(username)}]`,
          message: `must be a map, and is ${shapeOf(own(map, username))}`,
        },
      })),
  }
}
