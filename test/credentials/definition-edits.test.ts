import { beforeEach, describe, expect, test } from 'vitest'
import { sweep } from '../../src/credentials/sweep.ts'
import { parseRules } from '../../src/definitions/parse.ts'
import { both, changeDefinition, EDITS, edited, setPath } from '../helpers/definition-edits.ts'
import { BY, GRACE_MS } from '../helpers/sync-cluster.ts'
import {
  DECLARED_BY,
  DEFINITION,
  declaredByNow,
  NOTHING,
  RELEASE,
  type SyncPlace,
  syncPlace,
  UNDECLARED_SINCE,
  users,
} from '../helpers/sync-place.ts'

/** A definition that was edited, or a release that was, so that accounts are no longer declared that are in use. */

let place: SyncPlace
beforeEach(async () => {
  place = await syncPlace()
})

const swept = async () => {
  const done = await sweep(place.services, { by: BY })
  if (!done.ok) throw new Error(done.failure.reason)
  return done.value
}

/** What two looks do, by a call and by a tick, with the grace period between. */
async function lookTwice(): Promise<void> {
  for (let look = 1; look <= 2; look += 1) {
    expect(await place.sync()).toMatchObject({ created: [], marked: [], deleted: [] })
    expect(await swept()).toMatchObject({ created: 0, marked: 0, deleted: 0, orphansDeleted: 0, failures: 0 })
    place.pass(GRACE_MS)
  }
}

const declare = async (values: object): Promise<void> => {
  await place.changeRelease(({ spec }) => Object.assign(spec, { values }))
  await place.deployed()
}

describe('no account is marked or deleted when', () => {
  test.each(EDITS)('$what', async (edit) => {
    await edited(place, edit)
    const before = await both(place)
    await lookTwice()
    expect(await both(place)).toEqual(before)
    expect(place.writes()).toEqual([])
    const kept = place.events.filter(({ reason }) => reason === 'AccountSecretKept')
    expect(kept.every(({ isStanding, type }) => isStanding === true && type === 'Warning')).toBe(true)
    const notes = [...new Set(kept.map(({ note }) => note))]
    expect(notes).toHaveLength(edit.says === undefined ? 0 : 1)
    for (const piece of edit.says === undefined ? [] : [edit.says, 'web.account', 'old.account']) {
      expect(notes[0]).toContain(piece)
    }
  })

  test.each(EDITS)('they were marked long ago, rightly, and then $what', async (edit) => {
    await edited(place, edit)
    for (const account of ['web', 'old']) {
      await place.changeSecret(account, ({ metadata }) => {
        metadata.annotations[UNDECLARED_SINCE] = '2026-01-01T00:00:00Z'
      })
    }
    const before = await both(place)
    await lookTwice()
    expect(await both(place)).toEqual(before)
  })
})

describe('a definition that is edited', () => {
  test('and put right again has changed nothing', async () => {
    await place.orders(users('web', 'old'))
    await place.put('web')
    await place.put('old')
    await place.deployed()
    const before = await both(place)
    await setPath(place, 'usres')
    expect(await place.sync()).toEqual({ ...NOTHING, warnings: 2 })
    await setPath(place, 'users')
    expect(await place.sync()).toEqual(NOTHING)
    expect(await both(place)).toEqual(before)
    expect(place.writes()).toEqual([])
  })

  test('with the releases after it: each account says so once, and then nothing is written', async () => {
    await place.orders(users('web', 'old'))
    await place.put('web')
    await place.put('old')
    await place.deployed()
    const before = await both(place)
    await setPath(place, 'accounts')
    await declare({ accounts: { web: {}, old: {} } })
    expect((await swept()).adopted).toBe(2)
    expect((await swept()).adopted).toBe(0)
    expect(await place.sync()).toEqual(NOTHING)
    expect(place.writes()).toHaveLength(2)
    const now = await declaredByNow(place.admin)
    expect(now).not.toBe(before[0]?.metadata.annotations[DECLARED_BY])
    for (const [index, { data, metadata }] of (await both(place)).entries()) {
      const { annotations, uid } = before[index]?.metadata ?? {}
      expect(data).toEqual(before[index]?.data)
      expect(metadata.uid).toBe(uid)
      expect(metadata.annotations).toEqual({ ...annotations, [DECLARED_BY]: now })
    }
  })

  test('lets an account go by its new rules once it was declared by them', async () => {
    await place.orders(users('web', 'old'))
    await place.put('web')
    await place.put('old')
    await setPath(place, 'accounts')
    await declare({ accounts: { web: {}, old: {} } })
    await place.sync()
    await declare({ accounts: { web: {} } })
    expect(await place.sync()).toEqual({ ...NOTHING, marked: [`${RELEASE}.old`] })
    place.pass(GRACE_MS)
    expect(await place.sync()).toEqual({ ...NOTHING, deleted: [`${RELEASE}.old`] })
  })

  test('with one account left out keeps that one, and says which', async () => {
    await place.orders(users('web', 'old'))
    await place.put('web')
    await place.put('old')
    await setPath(place, 'accounts')
    await declare({ accounts: { web: {} } })
    expect(await place.sync()).toEqual({ ...NOTHING, adopted: [`${RELEASE}.web`], warnings: 1 })
    expect(place.events).toMatchObject([
      { reason: 'AccountSecretKept', isStanding: true, note: expect.stringContaining('old.account') },
    ])
    await lookTwice()
    expect(place.writes()).toEqual([`PUT secrets/${RELEASE}.web.account`])
  })

  test.each<[string, Parameters<typeof changeDefinition>[1]]>([
    ['its labels', ({ credentials }) => Object.assign(credentials.secretLabels, { team: 'a' })],
    ['its format', ({ credentials }) => Object.assign(credentials.format, { name: 'mysql-native' })],
    ['where old passwords are', ({ credentials }) => Object.assign(credentials, { legacy: { key: 'x' } })],
    [
      'a schema that switches nobody',
      ({ application }) =>
        Object.assign(application, {
          openAPISchema: JSON.stringify({
            type: 'object',
            properties: { size: { type: 'string', default: '1Gi' } },
          }),
        }),
    ],
  ])('in %s declares by the same rules as before', async (_, change) => {
    const before = await declaredByNow(place.admin)
    await changeDefinition(place, change)
    expect([before, await declaredByNow(place.admin)]).toEqual([expect.stringMatching(/./), before])
  })
})

/** Who reads it in another order, a YAML tool for example, reads the same. */
test('the order of the fields in a definition declares nobody', async () => {
  const definition = await place.admin.get(DEFINITION)
  const { credentials } = definition.spec
  const reversed = {
    ...credentials,
    accounts: credentials.accounts.map((each: object) =>
      Object.fromEntries(Object.entries(each).toReversed()),
    ),
  }
  expect(JSON.stringify(reversed.accounts)).not.toBe(JSON.stringify(credentials.accounts))
  const parsed = parseRules({ ...definition, spec: { ...definition.spec, credentials: reversed } })
  expect(parsed).toMatchObject({ value: { declaredBy: await declaredByNow(place.admin) } })
})

describe('a Secret from before, which does not say by which rules it was declared', () => {
  test('says so after one sync, keeps everything else, and is written no more', async () => {
    await place.orders(users('web'))
    await place.deployed()
    const before = await place.put('web', { declaredBy: null })
    expect(await place.sync()).toEqual({ ...NOTHING, adopted: [`${RELEASE}.web`] })
    expect(await place.sync()).toEqual(NOTHING)
    const after = await place.secret('web')
    expect(after.data).toEqual(before.data)
    expect(after.metadata.annotations).toEqual({
      ...before.metadata.annotations,
      [DECLARED_BY]: await declaredByNow(place.admin),
    })
    expect(place.events).toEqual([])
  })

  test('stays when its account is not declared, until that was declared once more', async () => {
    await place.orders(users('web'))
    await place.deployed()
    await place.put('old', { declaredBy: null, annotations: { [UNDECLARED_SINCE]: '2026-01-01T00:00:00Z' } })
    const before = await place.secret('old')
    await place.put('web')
    await lookTwice()
    expect(await place.secret('old')).toEqual(before)
    expect(new Set(place.reasons())).toEqual(new Set(['AccountSecretKept']))
    await declare(users('web', 'old'))
    expect((await place.sync()).adopted).toEqual([`${RELEASE}.old`])
    await declare(users('web'))
    expect((await place.sync()).marked).toEqual([`${RELEASE}.old`])
  })
})

describe('an account goes all the same', () => {
  test.each([
    ['an account Secret of the release', { name: `${RELEASE}.web.account`, targetPath: '_accounts.x' }],
    ['what the platform gives to every release', { name: 'cozystack-values' }],
  ])('when the release takes values from %s', async (_, reference) => {
    await place.orders(users('web'), { spec: { valuesFrom: [{ kind: 'Secret', ...reference }] } })
    await place.put('web')
    await place.put('old')
    await place.deployed()
    expect(await place.sync()).toEqual({ ...NOTHING, marked: [`${RELEASE}.old`] })
    place.pass(GRACE_MS)
    expect(await place.sync()).toEqual({ ...NOTHING, deleted: [`${RELEASE}.old`] })
  })
})

/** Each of them alone says that Helm has applied the release: a seed would be a password that its engine does not have. */
test.each<[string, object]>([
  ['Ready is True', { history: [] }],
  ['Ready is True and there is no history', { history: undefined }],
  ['Released is True', { history: [], conditions: [{ type: 'Released', status: 'True' }] }],
  ['there was a revision', { history: [], conditions: [], lastReleaseRevision: 1 }],
  ['the history is no list', { history: {}, conditions: [] }],
])('nothing is seeded where the history is empty and %s', async (_, status) => {
  await place.orders(users('web'))
  await place.deployed(status)
  expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
  expect(place.reasons()).toEqual(['AccountSecretMissing'])
  expect(place.writes()).toEqual([])
})
