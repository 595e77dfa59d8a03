import type { Anything } from '../contract/kube.ts'
import { DEFINITION, type Place, users } from './sync-place.ts'

/** What takes an account out of a release without anybody having taken it out. */
export interface Edit {
  readonly what: string
  /** Before the account Secrets are there. */
  readonly given?: (place: Place) => Promise<unknown>
  readonly does: (place: Place) => Promise<unknown>
  /** A piece of what the Event says; undefined when the Secrets of the release are looked for elsewhere. */
  readonly says?: string
}

const CHANGED = 'the account sources of ApplicationDefinition postgres have changed since it was declared'
const UNREAD = 'the release takes values from references, which are not read'

export const changeDefinition = ({ admin }: Pick<Place, 'admin'>, change: (spec: Anything) => void) =>
  admin.change(DEFINITION, ({ spec }) => change(spec))

export const setPath = (place: Place, path: string): Promise<Anything> =>
  changeDefinition(place, ({ credentials }) => {
    credentials.accounts[0].path = path
  })

const setSwitch = (place: Place, isOn: boolean) =>
  changeDefinition(place, ({ application, credentials }) => {
    application.openAPISchema = JSON.stringify({
      type: 'object',
      properties: { authEnabled: { type: 'boolean', default: isOn } },
    })
    credentials.accounts = ['web', 'old'].map((name) => ({ kind: 'Static', name, when: 'authEnabled' }))
  })

const relabel = (label: string, value: string) => (place: Place) =>
  place.changeRelease(({ metadata }) => {
    metadata.labels[`apps.cozystack.io/application.${label}`] = value
  })

/** The users go where Flux finds them, and this project does not look. */
const moveUsersTo = (reference: object) => (place: Place) =>
  place.changeRelease(({ spec }) => {
    spec.values = users()
    spec.valuesFrom = [reference]
  })

/** Each row alone leaves `web` and `old` undeclared, and takes neither away. */
export const EDITS: readonly Edit[] = [
  { what: 'a path has a typo', does: (place) => setPath(place, 'usres'), says: CHANGED },
  {
    what: 'their source is taken out',
    does: (place) => changeDefinition(place, ({ credentials }) => credentials.accounts.shift()),
    says: CHANGED,
  },
  {
    what: 'the default of the setting that switches them on turns from true to false',
    given: (place) => setSwitch(place, true),
    does: (place) => setSwitch(place, false),
    says: CHANGED,
  },
  {
    what: 'their users move to a ConfigMap',
    does: moveUsersTo({ kind: 'ConfigMap', name: 'orders-users' }),
    says: UNREAD,
  },
  {
    what: 'their users move to a Secret',
    does: moveUsersTo({ kind: 'Secret', name: 'orders-users' }),
    says: UNREAD,
  },
  {
    what: 'their users move to a Secret that is called like an account Secret of another release',
    does: moveUsersTo({ kind: 'Secret', name: 'postgres-ledger.web.account', targetPath: 'users' }),
    says: UNREAD,
  },
  {
    what: 'the values of the platform are put at a path',
    does: moveUsersTo({ kind: 'Secret', name: 'cozystack-values', targetPath: 'users' }),
    says: UNREAD,
  },
  {
    what: 'a ConfigMap is called like the values of the platform',
    does: moveUsersTo({ kind: 'ConfigMap', name: 'cozystack-values' }),
    says: UNREAD,
  },
  {
    what: 'the release is of another kind by its label, and declares nobody',
    does: async (place) => {
      await relabel('kind', 'MariaDB')(place)
      await place.changeRelease(({ spec }) => Object.assign(spec, { values: users() }))
    },
  },
  {
    what: 'the release is of another name by its label, and declares nobody',
    does: async (place) => {
      await relabel('name', 'ledger')(place)
      await place.changeRelease(({ spec }) => Object.assign(spec, { values: users() }))
    },
  },
]

/** A landed release with `web` and `old`, both minted, to which that happens; Flux has dealt with it then. */
export async function edited(place: Place, { given, does }: Edit): Promise<void> {
  await given?.(place)
  await place.orders(users('web', 'old'))
  await place.put('web')
  await place.put('old')
  await place.deployed()
  await does(place)
  await place.deployed()
}

/** The account Secrets of the two, whole. */
export const both = ({ secret }: Place): Promise<readonly Anything[]> =>
  Promise.all([secret('web'), secret('old')])

/** The seed of a create of this name that lost to another: nobody's, and of a release that never was. */
export const putLosersSeed = ({ put }: Place): Promise<Anything> =>
  put('web', {
    owner: null,
    annotation: 'b5b2f5ab-0000-4000-8000-000000000000',
    origin: 'NotIssued',
    annotations: {
      'credentials.cozystack.io/history': JSON.stringify([
        { operation: 'Create', at: '2026-10-01T08:00:00Z', by: 'system:serviceaccount:mintonce:mintonce' },
      ]),
    },
  })
