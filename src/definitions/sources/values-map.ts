import { isObject, type Json, own, textsOf } from '../../core/json.ts'
import type { BoundSource, Entry, Owner, SourceAnswer } from '../rules.ts'
import { misshapen, PATH_PATTERN, readPath, shapeCause } from '../values.ts'
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
        entries: entriesAt(path, owner),
        async resolve({ values }) {
          const found = readPath(values, path)
          if (!found.ok) return found
          const map = found.value ?? {}
          return isObject(map)
            ? { ok: true, value: entriesOf(map, path, owner) }
            : misshapen(path, 'a map of users', map)
        },
      },
    }
  },
}

function entriesOf(map: Json, path: string, owner: Owner): SourceAnswer {
  const names = Object.keys(map).filter((username) => own(map, username) !== null)
  const isEntry = (username: string) => isObject(own(map, username))
  return {
    accounts: names.filter(isEntry).map((username) => ({ username, owner })),
    malformed: names
      .filter((username) => !isEntry(username))
      .map((username) => ({
        username,
        cause: shapeCause(`${path}[${JSON.stringify(username)}]`, 'a map', own(map, username)),
      })),
  }
}

/** Whatever else stands at the path: no entries. What the platform writes for its own accounts is its own affair. */
const entriesAt =
  (path: string, owner: Owner): NonNullable<BoundSource['entries']> =>
  ({ values, schema }) => {
    const found = readPath(values, path)
    const map = found.ok && isObject(found.value) ? found.value : {}
    const node = path
      .split('.')
      .reduce<unknown>((parent, name) => own(own(parent, 'properties'), name), schema)
    return Object.keys(map).map(
      (username): Entry => ({
        username,
        within: path,
        key: username,
        hasPassword:
          owner === 'tenant' &&
          own(own(map, username), 'password') !== undefined &&
          !asksForPassword(node, username),
      }),
    )
  }

/** Whether the schema of the map requires a password in this entry: without one the values would be refused. */
function asksForPassword(map: unknown, username: string): boolean {
  const entry = own(own(map, 'properties'), username) ?? own(map, 'additionalProperties')
  return textsOf(own(entry, 'required')).includes('password')
}
