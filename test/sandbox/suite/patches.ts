import { describe, expect, test } from 'vitest'
import { newPlace, releaseOf, statusOf } from '../asking.ts'
import type { Served } from '../kube-api.ts'

const JSON_PATCH = { contentType: 'application/json-patch+json' } as const

/** Whatever did not apply: it says neither where nor why. */
const UNAPPLIED = {
  code: 422,
  reason: 'Invalid',
  message: 'the server rejected our request due to an error in our request',
  details: {},
}

const VALUES = { users: { 'a/b~c': { password: 'x' }, web: {} }, list: ['a', 'b'] }

export function patches(served: Served): void {
  describe('a JSON patch', () => {
    async function patching() {
      const { ask, releases, create } = await newPlace(served)
      const created = await create(
        releases,
        releaseOf('r', {
          spec: { interval: '5m', chartRef: { kind: 'OCIRepository', name: 'x' }, values: VALUES },
        }),
      )
      const patch = (operations: unknown, query = '') =>
        ask('PATCH', `${releases}/r${query}`, operations, JSON_PATCH)
      return { created, patch, read: async () => (await ask('GET', `${releases}/r`)).body }
    }

    test.each([
      [
        'adds',
        [{ op: 'add', path: '/spec/values/users/new', value: {} }],
        { users: { ...VALUES.users, new: {} } },
      ],
      [
        'removes by an escaped name',
        [{ op: 'remove', path: '/spec/values/users/a~1b~0c/password' }],
        {
          users: { 'a/b~c': {}, web: {} },
        },
      ],
      ['replaces', [{ op: 'replace', path: '/spec/values/users', value: { x: {} } }], { users: { x: {} } }],
      [
        'adds what is to be replaced and is not there',
        [{ op: 'replace', path: '/spec/values/n', value: 1 }],
        { n: 1 },
      ],
      [
        'puts into a list',
        [{ op: 'add', path: '/spec/values/list/1', value: 'n' }],
        { list: ['a', 'n', 'b'] },
      ],
      [
        'puts at the end of a list',
        [{ op: 'add', path: '/spec/values/list/-', value: 'n' }],
        {
          list: ['a', 'b', 'n'],
        },
      ],
      ['takes out of a list', [{ op: 'remove', path: '/spec/values/list/0' }], { list: ['b'] }],
      [
        'moves',
        [{ op: 'move', from: '/spec/values/list', path: '/spec/values/moved' }],
        {
          list: undefined,
          moved: ['a', 'b'],
        },
      ],
      ['copies', [{ op: 'copy', from: '/spec/values/list/0', path: '/spec/values/copied' }], { copied: 'a' }],
      [
        'goes on after a test',
        [
          { op: 'test', path: '/spec/values/list', value: ['a', 'b'] },
          { op: 'test', path: '/spec/values/absent', value: null },
          { op: 'add', path: '/spec/values/n', value: 1 },
        ],
        { n: 1 },
      ],
    ])('%s', async (_what, operations, changed) => {
      const { patch, created } = await patching()
      const { status, body } = await patch(operations)
      expect(status).toBe(200)
      expect(body.spec.values).toEqual(JSON.parse(JSON.stringify({ ...VALUES, ...changed })))
      expect(body.metadata).toMatchObject({ uid: created.metadata.uid, generation: 2 })
    })

    test.each([
      ['a test of another value', { op: 'test', path: '/spec/interval', value: '6m' }],
      [
        'a test of the version of another time',
        { op: 'test', path: '/metadata/resourceVersion', value: '1' },
      ],
      ['a test of what is not there', { op: 'test', path: '/spec/absent', value: 1 }],
      ['a test below what is not there', { op: 'test', path: '/spec/absent/deep', value: null }],
      ['a remove of what is not there', { op: 'remove', path: '/spec/values/absent' }],
      ['a remove beyond a list', { op: 'remove', path: '/spec/values/list/2' }],
      ['an add below what is not there', { op: 'add', path: '/spec/values/absent/deep', value: 1 }],
      ['an add beyond a list', { op: 'add', path: '/spec/values/list/3', value: 1 }],
      ['an unknown operation', { op: 'set', path: '/spec/values/list', value: 1 }],
    ])('with %s changes nothing, whatever goes before it', async (_what, operation) => {
      const { patch, created, read } = await patching()
      expect(statusOf(await patch([{ op: 'add', path: '/spec/values/n', value: 1 }, operation]))).toEqual(
        UNAPPLIED,
      )
      expect(await read()).toEqual(created)
    })

    test('with tests of the very object that was read applies once', async () => {
      const { patch, created } = await patching()
      const { uid, resourceVersion } = created.metadata
      const guarded = [
        { op: 'test', path: '/metadata/uid', value: uid },
        { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
        { op: 'add', path: '/spec/suspend', value: true },
      ]
      expect((await patch(guarded)).status).toBe(200)
      expect(statusOf(await patch(guarded))).toEqual(UNAPPLIED)
    })

    test('as a dry run answers the change and stores nothing', async () => {
      const { patch, created, read } = await patching()
      const { body } = await patch([{ op: 'add', path: '/spec/suspend', value: true }], '?dryRun=All')
      expect(body.spec.suspend).toBe(true)
      expect(await read()).toEqual(created)
    })

    test('that is no list is a bad request', async () => {
      const { patch } = await patching()
      expect((await patch({})).body).toMatchObject({ code: 400, reason: 'BadRequest' })
    })

    test('of what is not there is NotFound', async () => {
      const { ask, releases } = await newPlace(served)
      expect((await ask('PATCH', `${releases}/r`, [], JSON_PATCH)).body).toMatchObject({
        code: 404,
        details: { name: 'r' },
      })
    })
  })
}
