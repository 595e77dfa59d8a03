import { own } from '../../core/json.ts'
import { type BoundSource, usernameProblem } from '../rules.ts'
import { misshapen, PATH_PATTERN, readPath } from '../values.ts'
import { ownerOf } from './owner.ts'
import type { ParsedSource, SourceKind } from './source.ts'

/** `{kind: Static, name: default, when: authEnabled}`: one account that every release has, or those with a setting on. */
export const staticAccount: SourceKind = {
  kind: 'Static',
  fields: ['name', 'owner', 'when'],
  parse(entry, field): ParsedSource {
    const wrong = (name: string, problem: string): ParsedSource => ({
      ok: false,
      field: `${field}.${name}`,
      problem,
    })
    const username = own(entry, 'name')
    if (typeof username !== 'string') return wrong('name', 'must be a username')
    const problem = usernameProblem(username)
    if (problem !== undefined) return wrong('name', problem)
    const owner = ownerOf(entry)
    if (owner === undefined) return wrong('owner', 'must be tenant or platform')
    const when = own(entry, 'when')
    if (when === undefined) return bound(async () => declared([{ username, owner }]))
    if (typeof when !== 'string' || !PATH_PATTERN.test(when)) {
      return wrong('when', 'must be dotted names, such as authEnabled')
    }
    return bound(async ({ values, schema }) => {
      const setting = readPath(values, when, schema)
      if (!setting.ok) return setting
      const on = setting.value === undefined ? true : setting.value
      if (typeof on !== 'boolean' && on !== null) return misshapen(when, 'true or false', on)
      return declared(on === true ? [{ username, owner }] : [])
    })
  },
}

type Resolve = BoundSource['resolve']

const bound = (resolve: Resolve): ParsedSource => ({ ok: true, source: { kind: 'Static', resolve } })

const declared = (accounts: Extract<Awaited<ReturnType<Resolve>>, { ok: true }>['value']['accounts']) =>
  ({ ok: true, value: { accounts, malformed: [] } }) as const
