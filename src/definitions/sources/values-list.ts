import { isObject, own, textsOf } from '../../core/json.ts'
import type { Declared, Entry, Owner, SourceAnswer } from '../rules.ts'
import { misshapen, PATH_PATTERN, readPath, shapeCause } from '../values.ts'
import { ownerOf } from './owner.ts'
import type { ParsedSource, SourceKind } from './source.ts'

interface Settings {
  readonly path: string
  /** Undefined for a list of plain usernames. */
  readonly nameField: string | undefined
  readonly owner: Owner
}

/**
 * `{kind: ValuesList, path: accounts, nameField: name}`: a field of each map in the list under a path of the release's
 * values. Without `nameField` the list holds the usernames themselves. `null` is no entry; an entry of another shape is
 * wrong for itself.
 */
export const valuesList: SourceKind = {
  kind: 'ValuesList',
  fields: ['path', 'nameField', 'owner'],
  parse(entry, field): ParsedSource {
    const wrong = (name: string, problem: string): ParsedSource => ({
      ok: false,
      field: `${field}.${name}`,
      problem,
    })
    const path = own(entry, 'path')
    if (typeof path !== 'string' || !PATH_PATTERN.test(path)) {
      return wrong('path', 'must be dotted names, such as accounts')
    }
    const nameField = own(entry, 'nameField')
    if (nameField !== undefined && (typeof nameField !== 'string' || nameField === '')) {
      return wrong('nameField', 'must be the field that holds the username, such as name')
    }
    const owner = ownerOf(entry)
    if (owner === undefined) return wrong('owner', 'must be tenant or platform')
    const settings: Settings = { path, nameField, owner }
    return {
      ok: true,
      source: {
        kind: 'ValuesList',
        entries: ({ values, schema }) => {
          const found = readPath(values, path)
          return found.ok && Array.isArray(found.value) ? entriesOf(found.value, settings, schema) : []
        },
        async resolve({ values }) {
          const found = readPath(values, path)
          if (!found.ok) return found
          const list = found.value ?? []
          return Array.isArray(list)
            ? { ok: true, value: answerOf(list, settings) }
            : misshapen(path, 'a list of users', list)
        },
      },
    }
  },
}

function answerOf(list: readonly unknown[], { path, nameField, owner }: Settings): SourceAnswer {
  const accounts: Declared[] = []
  const malformed: SourceAnswer['malformed'][number][] = []
  for (const [index, entry] of list.entries()) {
    const place = `${path}[${index}]`
    const username = usernameIn(entry, nameField)
    if (entry === null) continue
    if (typeof username === 'string') accounts.push({ username, owner })
    else if (nameField === undefined) malformed.push({ cause: shapeCause(place, 'a username', entry) })
    else if (!isObject(entry)) malformed.push({ cause: shapeCause(place, 'a map', entry) })
    else malformed.push({ cause: nameCause(`${place}.${nameField}`, username) })
  }
  return { accounts, malformed }
}

const usernameIn = (entry: unknown, nameField: string | undefined): unknown =>
  nameField === undefined ? entry : own(entry, nameField)

const nameCause = (field: string, found: unknown) =>
  found === undefined
    ? { reason: 'FieldValueRequired', field: `spec.values.${field}`, message: 'must be a username' }
    : shapeCause(field, 'a username', found)

/** Entries without a username too: a password in the clear is one whosever it is. */
function entriesOf(
  list: readonly unknown[],
  { path, nameField, owner }: Settings,
  schema: unknown,
): readonly Entry[] {
  const node = path.split('.').reduce<unknown>((parent, name) => own(own(parent, 'properties'), name), schema)
  const isAskedFor = textsOf(own(own(node, 'items'), 'required')).includes('password')
  return list.map((entry, key): Entry => {
    const username = usernameIn(entry, nameField)
    const hasPassword = owner === 'tenant' && own(entry, 'password') !== undefined && !isAskedFor
    return { username: typeof username === 'string' ? username : '', within: path, key, hasPassword }
  })
}
