import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/auth/authenticator.ts'
import { impersonated } from '../../src/auth/impersonation.ts'
import type { Access } from '../../src/core/failure.ts'
import { type HeaderLines, joinedLinesOf, linesOf } from '../../src/core/headers.ts'
import { fail, ok, type Result } from '../../src/core/result.ts'

const bob: Caller = {
  username: 'bob',
  uid: 'uid-bob',
  groups: ['ops', 'system:authenticated'],
  extra: { scopes: ['all'] },
}

type Sent = readonly (readonly [name: string, value: string])[]

/** As Node hands them over: bytes of UTF-8 as Latin-1, each line by itself. */
const onNode = (sent: Sent): HeaderLines =>
  linesOf(sent.flatMap(([name, value]) => [name, Buffer.from(value).toString('latin1')]))

/** As the Fetch API does: those of one name joined. */
const joined = (sent: Sent): HeaderLines => {
  const headers = new Headers()
  for (const [name, value] of sent) headers.append(name, value)
  return joinedLinesOf(headers)
}

/** Asks as Bob. `rule` is the authorizer; everything is allowed when there is none. */
async function asBob(
  headers: HeaderLines,
  rule: (access: Access) => Result<undefined> = () => ok(undefined),
) {
  const asked: { caller: Caller; access: Access; signal: AbortSignal | undefined }[] = []
  const { signal } = new AbortController()
  const result = await impersonated(
    bob,
    headers,
    async (caller, access, options) => {
      asked.push({ caller, access, signal: options.signal })
      return rule(access)
    },
    { signal },
  )
  expect(asked.every((each) => each.caller === bob && each.signal === signal)).toBe(true)
  return { result, accesses: asked.map(({ access }) => access) }
}

const malformed = (message: unknown) => ({ ok: false, failure: { reason: 'request_malformed', message } })

// What kube-apiserver reviews: `legacyImpersonationMode` of k8s.io/apiserver/pkg/endpoints/filters/impersonation.
const core = { verb: 'impersonate', group: '', version: 'v1' }
const authentication = { verb: 'impersonate', group: 'authentication.k8s.io', version: 'v1' }

test('without impersonation headers callers are who they are, and nothing is asked', async () => {
  const headers = onNode([
    ['Authorization', 'Bearer x'],
    ['X-Impersonate-User', 'jane'],
    ['Impersonate_User', 'jane'],
  ])
  const { result, accesses } = await asBob(headers)
  expect(result).toEqual({ ok: true, value: bob })
  expect(accesses).toEqual([])
})

/** From upstream's own table, `impersonation_test.go`, and the ways in which clients write headers. */
const accepted: readonly {
  readonly is: string
  readonly sent: Sent
  readonly asks: readonly object[]
  readonly becomes: object
}[] = [
  {
    is: 'a user',
    sent: [['Impersonate-User', 'jane@example.org']],
    asks: [{ ...core, resource: 'users', name: 'jane@example.org' }],
    becomes: { username: 'jane@example.org', groups: ['system:authenticated'] },
  },
  {
    is: 'a user with groups',
    sent: [
      ['impersonate-group', 'developers'],
      ['impersonate-user', 'jane'],
      ['IMPERSONATE-GROUP', 'admins'],
      ['Impersonate-Group', 'developers'],
    ],
    asks: [
      { ...core, resource: 'users', name: 'jane' },
      { ...core, resource: 'groups', name: 'developers' },
      { ...core, resource: 'groups', name: 'admins' },
      { ...core, resource: 'groups', name: 'developers' },
    ],
    becomes: { username: 'jane', groups: ['developers', 'admins', 'system:authenticated'] },
  },
  {
    is: 'the group of all authenticated users, which then has to be allowed',
    sent: [
      ['Impersonate-User', 'jane'],
      ['Impersonate-Group', 'system:authenticated'],
    ],
    asks: [
      { ...core, resource: 'users', name: 'jane' },
      { ...core, resource: 'groups', name: 'system:authenticated' },
    ],
    becomes: { username: 'jane', groups: ['system:authenticated'] },
  },
  {
    is: 'the mightiest group, when it is allowed',
    sent: [
      ['Impersonate-User', 'jane'],
      ['Impersonate-Group', 'system:masters'],
    ],
    asks: [
      { ...core, resource: 'users', name: 'jane' },
      { ...core, resource: 'groups', name: 'system:masters' },
    ],
    becomes: { username: 'jane', groups: ['system:masters', 'system:authenticated'] },
  },
  {
    is: 'a ServiceAccount, with the groups that each of them has',
    sent: [['Impersonate-User', 'system:serviceaccount:tenant-acme:pipeline.v2']],
    asks: [{ ...core, resource: 'serviceaccounts', namespace: 'tenant-acme', name: 'pipeline.v2' }],
    becomes: {
      username: 'system:serviceaccount:tenant-acme:pipeline.v2',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:tenant-acme', 'system:authenticated'],
    },
  },
  {
    is: 'a ServiceAccount with groups, and then with no others',
    sent: [
      ['Impersonate-User', 'system:serviceaccount:tenant-acme:pipeline'],
      ['Impersonate-Group', 'developers'],
    ],
    asks: [
      { ...core, resource: 'serviceaccounts', namespace: 'tenant-acme', name: 'pipeline' },
      { ...core, resource: 'groups', name: 'developers' },
    ],
    becomes: {
      username: 'system:serviceaccount:tenant-acme:pipeline',
      groups: ['developers', 'system:authenticated'],
    },
  },
  {
    is: 'a uid',
    sent: [
      ['Impersonate-User', 'jane'],
      ['Impersonate-Uid', '0c1b2f0e-7b34-4e4c-9d5a-3f7c2b1a0d9e'],
    ],
    asks: [
      { ...core, resource: 'users', name: 'jane' },
      { ...authentication, resource: 'uids', name: '0c1b2f0e-7b34-4e4c-9d5a-3f7c2b1a0d9e' },
    ],
    becomes: {
      username: 'jane',
      uid: '0c1b2f0e-7b34-4e4c-9d5a-3f7c2b1a0d9e',
      groups: ['system:authenticated'],
    },
  },
  {
    is: 'extra, its keys in lower case, then decoded, each value by itself',
    sent: [
      ['Impersonate-User', 'jane'],
      ['Impersonate-Extra-Scopes', 'view'],
      ['Impersonate-Extra-Example.Org%2fTeam', 'blue'],
      ['Impersonate-Extra-scopes', 'development'],
      ['Impersonate-Extra-__proto__', 'x'],
      ['Impersonate-Extra-100%25', 'sure'],
      ['Impersonate-Extra-sc%6Fpes', 'third'],
      ['Impersonate-Extra-gr%C3%B6%C3%9Fe', 'XL'],
    ],
    asks: [
      { ...core, resource: 'users', name: 'jane' },
      { ...authentication, resource: 'userextras', subresource: 'scopes', name: 'view' },
      { ...authentication, resource: 'userextras', subresource: 'scopes', name: 'development' },
      { ...authentication, resource: 'userextras', subresource: 'scopes', name: 'third' },
      { ...authentication, resource: 'userextras', subresource: 'example.org/team', name: 'blue' },
      { ...authentication, resource: 'userextras', subresource: '__proto__', name: 'x' },
      { ...authentication, resource: 'userextras', subresource: '100%', name: 'sure' },
      { ...authentication, resource: 'userextras', subresource: 'größe', name: 'XL' },
    ],
    becomes: {
      username: 'jane',
      groups: ['system:authenticated'],
      extra: Object.fromEntries([
        ['scopes', ['view', 'development', 'third']],
        ['example.org/team', ['blue']],
        ['__proto__', ['x']],
        ['100%', ['sure']],
        ['größe', ['XL']],
      ]),
    },
  },
  {
    is: 'names with commas and of any script',
    sent: [
      ['Impersonate-User', 'Jäne Ω'],
      ['Impersonate-Group', 'a,b'],
      ['Impersonate-Group', 'отдел'],
      ['Impersonate-Extra-x', '一,二'],
    ],
    asks: [
      { ...core, resource: 'users', name: 'Jäne Ω' },
      { ...core, resource: 'groups', name: 'a,b' },
      { ...core, resource: 'groups', name: 'отдел' },
      { ...authentication, resource: 'userextras', subresource: 'x', name: '一,二' },
    ],
    becomes: {
      username: 'Jäne Ω',
      groups: ['a,b', 'отдел', 'system:authenticated'],
      extra: { x: ['一,二'] },
    },
  },
]

test.each(accepted)('$is', async ({ sent, asks, becomes }) => {
  const { result, accesses } = await asBob(onNode(sent))
  expect(accesses).toEqual(asks)
  expect(result).toEqual({ ok: true, value: { uid: undefined, extra: {}, ...becomes, impersonator: 'bob' } })
})

test.each([
  'system:serviceaccount:tenant-acme',
  'system:serviceaccount:tenant-acme:',
  'system:serviceaccount::pipeline',
  'system:serviceaccount:tenant-acme:pipeline:x',
  'system:serviceaccount:tenant.acme:pipeline',
  'system:serviceaccount:tenant-acme:Pipeline',
  'xsystem:serviceaccount:tenant-acme:pipeline',
  `system:serviceaccount:${'a'.repeat(64)}:pipeline`,
])('%s is no ServiceAccount, but a user', async (username) => {
  const { result, accesses } = await asBob(onNode([['Impersonate-User', username]]))
  expect(accesses).toEqual([{ ...core, resource: 'users', name: username }])
  expect(result).toMatchObject({ ok: true, value: { username, groups: ['system:authenticated'] } })
})

describe('is allowed only when every review says yes', () => {
  const sent: Sent = [
    ['Impersonate-User', 'jane'],
    ['Impersonate-Uid', 'uid-jane'],
    ['Impersonate-Group', 'developers'],
    ['Impersonate-Group', 'admins'],
    ['Impersonate-Extra-scopes', 'view'],
    ['Impersonate-Extra-scopes', 'edit'],
  ]

  test.each(['jane', 'uid-jane', 'developers', 'admins', 'view', 'edit'])(
    'no to %s is forbidden',
    async (name) => {
      const { result, accesses } = await asBob(onNode(sent), (access) =>
        access.name === name ? fail({ reason: 'forbidden', user: 'bob', access }) : ok(undefined),
      )
      expect(accesses).toHaveLength(6)
      expect(result).toMatchObject({
        ok: false,
        failure: { reason: 'forbidden', user: 'bob', access: { name } },
      })
    },
  )

  test('of several the first is named, users before all others', async () => {
    const { result } = await asBob(onNode([...sent].reverse()), (access) =>
      fail({ reason: 'forbidden', user: 'bob', access }),
    )
    expect(result).toMatchObject({ failure: { access: { resource: 'users', name: 'jane' } } })
  })

  test('a review without an answer allows nothing', async () => {
    const failure = { reason: 'kube_timeout', call: 'create SubjectAccessReview' } as const
    const { result } = await asBob(onNode(sent), ({ name }) =>
      name === 'edit' ? fail(failure) : ok(undefined),
    )
    expect(result).toEqual({ ok: false, failure })
  })

  test('all are asked at once', async () => {
    let waiting = 0
    let release = () => {}
    const all = new Promise<void>((resolve) => {
      release = resolve
    })
    const result = impersonated(bob, onNode(sent), async () => {
      waiting += 1
      if (waiting === sent.length) release()
      await all
      return ok(undefined)
    })
    expect(await result).toMatchObject({ ok: true })
  })
})

const user = ['Impersonate-User', 'jane'] as const

describe('is refused, and nothing asked', () => {
  test.each<[string, Sent, RegExp]>([
    ['a group without a user', [['Impersonate-Group', 'a']], /without impersonate-user/],
    ['a uid without a user', [['Impersonate-Uid', 'a']], /without impersonate-user/],
    ['extra without a user', [['Impersonate-Extra-scopes', 'a']], /without impersonate-user/],
    ['an empty user', [['Impersonate-User', '']], /impersonate-user is empty/],
    [
      'an empty user with a mighty group',
      [
        ['Impersonate-User', ''],
        ['Impersonate-Group', 'system:masters'],
      ],
      /impersonate-user is empty/,
    ],
    ['an empty group', [user, ['Impersonate-Group', '']], /impersonate-group is empty/],
    ['an empty uid', [user, ['Impersonate-Uid', '']], /impersonate-uid is empty/],
    ['an empty extra value', [user, ['Impersonate-Extra-scopes', '']], /impersonate-extra-scopes is empty/],
    ['two users', [user, ['impersonate-user', 'john']], /impersonate-user may be given once only/],
    ['the same user twice', [user, user], /impersonate-user may be given once only/],
    [
      'two uids',
      [user, ['Impersonate-Uid', 'a'], ['Impersonate-Uid', 'b']],
      /impersonate-uid may be given once/,
    ],
    ['no key of extra', [user, ['Impersonate-Extra-', 'a']], /names no key/],
    ['half an escape in a key', [user, ['Impersonate-Extra-100%', 'a']], /names no key/],
    ['a key that is no UTF-8', [user, ['Impersonate-Extra-%ff', 'a']], /names no key/],
    ['a line break in a key', [user, ['Impersonate-Extra-a%0a', 'a']], /names no key/],
    ['a space at the end of a key', [user, ['Impersonate-Extra-a%20', 'a']], /names no key/],
    ['white space before a user', [['Impersonate-User', '\u00a0jane']], /outer white space/],
    [
      'white space behind a group',
      [user, ['Impersonate-Group', 'system:masters\u2003']],
      /outer white space/,
    ],
    ['a control character', [user, ['Impersonate-Uid', 'a\u0085b']], /control characters/],
    ['a tab inside', [user, ['Impersonate-Extra-scopes', 'a\tb']], /control characters/],
    ['the anonymous user', [['Impersonate-User', 'system:anonymous']], /nobody is anonymous/],
    [
      'the group of the anonymous user',
      [user, ['Impersonate-Group', 'system:unauthenticated']],
      /nobody is anonymous/,
    ],
  ])('%s', async (_is, sent, message) => {
    const { result, accesses } = await asBob(onNode(sent))
    expect(result).toEqual(malformed(expect.stringMatching(message)))
    expect(accesses).toEqual([])
  })

  test('bytes that are no UTF-8', async () => {
    const { result, accesses } = await asBob(linesOf(['Impersonate-User', 'j\xe4ne']))
    expect(result).toEqual(malformed('impersonate-user is no UTF-8'))
    expect(accesses).toEqual([])
  })

  test('a 33rd value, whatever it is', async () => {
    const groups = Array.from({ length: 31 }, (_, index) => ['Impersonate-Group', `g${index}`] as const)
    expect((await asBob(onNode([user, ...groups]))).accesses).toHaveLength(32)
    const { result, accesses } = await asBob(onNode([user, ...groups, ['Impersonate-Extra-x', 'y']]))
    expect(result).toEqual(malformed('more than 32 impersonation headers'))
    expect(accesses).toEqual([])
  })

  test.each([
    'Impersonate-Users',
    'Impersonate-Groups',
    'Impersonate-Extra',
    'Impersonate-',
    'Impersonate-UserName',
  ])('%s, which means nothing', async (name) => {
    for (const sent of [[[name, 'jane']], [user, [name, 'jane']], [[name, '']]] as const) {
      const { result, accesses } = await asBob(onNode(sent))
      expect(result).toEqual({
        ok: false,
        failure: { reason: 'impersonation_unknown', header: name.toLowerCase() },
      })
      expect(accesses).toEqual([])
    }
  })

  test('and no message repeats a value, nor a name of any length', async () => {
    const name = `Impersonate-Extra-${'k'.repeat(5000)}`
    for (const sent of [
      [[`Impersonate-${'x'.repeat(5000)}`, 'secret']],
      [[name, ' secret']],
      [[name, 'secret']],
    ] as const) {
      const { result } = await asBob(linesOf(sent.flat()))
      expect(result.ok).toBe(false)
      expect(JSON.stringify(result).length).toBeLessThan(400)
      expect(JSON.stringify(result)).not.toContain('secret')
    }
  })
})

describe('where the runtime joins headers', () => {
  test('what is given once and plain is as elsewhere', async () => {
    const { result, accesses } = await asBob(
      joined([user, ['Impersonate-Group', 'developers'], ['Impersonate-Extra-Example.org%2Fx', 'y']]),
    )
    expect(accesses).toHaveLength(3)
    expect(result).toEqual({
      ok: true,
      value: {
        username: 'jane',
        uid: undefined,
        groups: ['developers', 'system:authenticated'],
        extra: { 'example.org/x': ['y'] },
        impersonator: 'bob',
      },
    })
  })

  test.each<[string, Sent, RegExp]>([
    [
      'a repeated group',
      [user, ['Impersonate-Group', 'a'], ['Impersonate-Group', 'b']],
      /repeated, or has a comma/,
    ],
    ['a repeated user', [user, user], /impersonate-user is repeated, or has a comma/],
    ['a group with a comma', [user, ['Impersonate-Group', 'a,system:masters']], /repeated, or has a comma/],
    [
      'a repeated extra',
      [user, ['Impersonate-Extra-x', 'a'], ['impersonate-extra-X', 'b']],
      /repeated, or has/,
    ],
    ['a user of two bytes', [['Impersonate-User', 'j\xc3\xa4ne']], /impersonate-user is not ASCII/],
    ['a group of Latin-1', [user, ['Impersonate-Group', '\xe4']], /impersonate-group is not ASCII/],
    ['a group without a user', [['Impersonate-Group', 'a']], /without impersonate-user/],
  ])('%s is refused, and nothing asked', async (_is, sent, message) => {
    const { result, accesses } = await asBob(joined(sent))
    expect(result).toEqual(malformed(expect.stringMatching(message)))
    expect(accesses).toEqual([])
  })
})
