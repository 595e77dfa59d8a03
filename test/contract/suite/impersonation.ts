import { describe, expect, test } from 'vitest'
import type { HeaderLine } from '../backend.ts'
import type { Contract } from '../contract.ts'
import { type Answer, adminOfTenant, answerOf, type Tenant } from '../tenant.ts'

const CREDENTIAL = 'mariadb-shop.app'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'

/** A tenant whose `stranger` has no right but to impersonate these. */
interface Cast {
  readonly acme: Tenant
  /** What the cluster calls the stranger. */
  readonly boss: string
  /** May read and mint. */
  readonly jane: string
  /** May read; her name is not ASCII. */
  readonly zoe: string
  /** Has no right. */
  readonly nobody: string
  /** A group that may read, with a comma in its name. */
  readonly readers: string
  /** Has no right. */
  readonly others: string
}

async function castOf(tenant: Contract['tenant']): Promise<Cast> {
  const acme = await tenant()
  const { namespace } = acme
  await acme.release('MariaDB', 'shop', { users: { app: {} } })
  const cast = {
    acme,
    boss: `system:serviceaccount:${namespace}:stranger`,
    jane: `jane@${namespace}.example`,
    zoe: `zoë-Ω-${namespace}`,
    nobody: `nobody-of-${namespace}`,
    readers: `readers,of ${namespace}`,
    others: `others-of-${namespace}`,
  }
  await allowToImpersonate(cast)
  for (const [kind, name, role] of [
    ['User', cast.jane, 'mintonce:mint'],
    ['User', cast.jane, 'mintonce:view'],
    ['User', cast.zoe, 'mintonce:view'],
    ['Group', cast.readers, 'mintonce:view'],
  ] as const) {
    await bind(acme, { kind: 'ClusterRole', name: role }, { kind, name })
  }
  await expectRights(cast)
  return cast
}

let bindings = 0

async function bind({ admin, namespace }: Tenant, role: object, subject: object): Promise<void> {
  bindings += 1
  await admin.create(`${RBAC}/namespaces/${namespace}/rolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: `impersonation-${bindings}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', ...role },
    subjects: [subject],
  })
}

async function allowToImpersonate({ acme, jane, zoe, nobody, readers, others }: Cast): Promise<void> {
  const { admin, namespace } = acme
  const name = `impersonators-of-${namespace}`
  const subject = { kind: 'ServiceAccount', name: 'stranger', namespace }
  const allow = (apiGroup: string, resource: string, ...resourceNames: readonly string[]) => ({
    apiGroups: [apiGroup],
    resources: [resource],
    verbs: ['impersonate'],
    resourceNames,
  })
  const typed = (kind: string, content: object) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata: { name },
    ...content,
  })
  const rules = [
    allow('', 'users', jane, zoe, nobody),
    allow('', 'groups', readers, others),
    allow('authentication.k8s.io', 'uids', 'uid-1'),
    allow('authentication.k8s.io', 'userextras/scopes', 'read', 'write'),
    allow('authentication.k8s.io', 'userextras/example.org/team', 'blue'),
  ]
  await admin.create(`${RBAC}/clusterroles`, typed('ClusterRole', { rules }))
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
  await admin.create(
    `${RBAC}/clusterrolebindings`,
    typed('ClusterRoleBinding', { roleRef, subjects: [subject] }),
  )
  await admin.create(
    `${RBAC}/namespaces/${namespace}/roles`,
    typed('Role', { rules: [allow('', 'serviceaccounts', 'viewer')] }),
  )
  await bind(acme, { kind: 'Role', name }, subject)
}

/** kube-apiserver learns of roles a moment after they were stored. */
async function expectRights({ acme, boss, jane, zoe, readers }: Cast): Promise<void> {
  const { namespace } = acme
  const credentials = { group: 'core.cozystack.io', resource: 'credentials', namespace }
  const impersonate = { verb: 'impersonate', group: '' }
  const review = async (spec: object): Promise<unknown> => {
    const object = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
    return (await acme.admin.create(ACCESS_REVIEWS, object)).status.allowed
  }
  const rights = [
    { user: boss, resourceAttributes: { ...impersonate, resource: 'users', name: jane } },
    {
      user: boss,
      resourceAttributes: { ...impersonate, resource: 'serviceaccounts', name: 'viewer', namespace },
    },
    { user: jane, resourceAttributes: { ...credentials, verb: 'create', subresource: 'mint' } },
    { user: jane, resourceAttributes: { ...credentials, verb: 'list' } },
    { user: zoe, resourceAttributes: { ...credentials, verb: 'list' } },
    { groups: [readers], resourceAttributes: { ...credentials, verb: 'list' } },
  ]
  for (const right of rights) await expect.poll(() => review(right), { timeout: 10_000 }).toBe(true)
}

/** The headers of a case, by the names of those who play in it. */
type Headers = (cast: Cast) => readonly HeaderLine[]

const user = (name: string): HeaderLine => ['Impersonate-User', name]

/** Somebody who acts as another, by the headers of Kubernetes impersonation. */
export function impersonation({ backend, tenant }: Contract): void {
  const listAs = async ({ acme }: Cast, lines: readonly HeaderLine[]): Promise<Answer> => {
    const authorization = ['Authorization', `Bearer ${acme.tokens.stranger}`] as const
    return answerOf(await backend().callWithLines('GET', acme.path(''), [authorization, ...lines]))
  }

  describe('impersonation', () => {
    test('mints by the rights of the impersonated, and both are recorded', async () => {
      const { acme, boss, jane } = await castOf(tenant)
      expect((await acme.mint(CREDENTIAL, { as: 'stranger' })).status).toBe(403)
      const minted = await acme.mint(CREDENTIAL, { as: 'stranger', headers: { 'Impersonate-User': jane } })
      expect(minted.status).toBe(201)

      const entry = { operation: 'Mint', at: minted.body.status.issuedAt, by: jane, impersonator: boss }
      const { metadata } = await acme.secret(CREDENTIAL)
      expect(JSON.parse(metadata.annotations['credentials.cozystack.io/history'])).toEqual([entry])
      const { body } = await acme.get(CREDENTIAL)
      expect(body.status.password).toMatchObject({ origin: 'Minted', by: jane })
      expect(body.status.history).toEqual([entry])
      await expect.poll(async () => (await acme.events()).length).toBe(1)
      expect((await acme.events())[0]).toMatchObject({
        reason: 'CredentialIssued',
        note: `password of user app issued by ${jane}`,
      })
      const line = () =>
        backend()
          .logged()
          .split('\n')
          .find((each) => each.includes('"operation":"Mint"') && each.includes(jane))
      await expect.poll(line).toContain(`"user":"${jane}"`)
      expect(line()).toContain(`"impersonator":"${boss}"`)
    })

    test('gives the impersonated nothing of the caller’s own', async () => {
      const cast = await castOf(tenant)
      const { acme, nobody } = cast
      const stranger = { kind: 'ServiceAccount', name: 'stranger', namespace: acme.namespace }
      await bind(acme, { kind: 'ClusterRole', name: 'mintonce:mint' }, stranger)
      const mint = async () => (await acme.mint(CREDENTIAL, { as: 'stranger' })).status
      await expect.poll(mint, { timeout: 10_000 }).toBe(201)
      const before = await acme.secret(CREDENTIAL)
      const headers = { 'Impersonate-User': nobody }
      for (const verb of ['mint', 'revoke'] as const) {
        const answer = await acme[verb](CREDENTIAL, { as: 'stranger', headers })
        expect(answer.status).toBe(403)
        expect(answer.body.message).toContain(`User "${nobody}" cannot create resource "credentials/${verb}"`)
      }
      expect(await acme.secret(CREDENTIAL)).toEqual(before)
    })

    test('is for those only who may impersonate, whatever else they may, in the words of kube-apiserver', async () => {
      const { acme, jane } = await castOf(tenant)
      const headers = { 'Impersonate-User': jane }
      for (const answer of [
        await acme.mint(CREDENTIAL, { headers }),
        await acme.revoke(CREDENTIAL, { headers }),
        await acme.get(CREDENTIAL, { headers }),
        await acme.list('', { headers }),
      ]) {
        expect(answer.status).toBe(403)
        expect(answer.body).toMatchObject({
          reason: 'Forbidden',
          message: `users "${jane}" is forbidden: User "${adminOfTenant(acme)}" cannot impersonate resource "users" in API group "" at the cluster scope`,
          details: { name: jane, kind: 'users' },
        })
      }
      expect(await acme.secret(CREDENTIAL)).toBeUndefined()
    })

    test('is nothing that somebody without a token could ask for', async () => {
      const { acme, jane } = await castOf(tenant)
      const answer = await backend().callWithLines('GET', acme.path(''), [user(jane)])
      expect(answer.status).toBe(401)
    })

    test('counts the rights of a user, of groups and of a ServiceAccount', async () => {
      const cast = await castOf(tenant)
      const { jane, nobody, others, acme } = cast
      const viewer = `system:serviceaccount:${acme.namespace}:viewer`
      const status = async (lines: readonly HeaderLine[]) => (await listAs(cast, lines)).status
      expect(await status([user(jane)])).toBe(200)
      expect(await status([user(viewer)])).toBe(200)
      expect(await status([user(nobody)])).toBe(403)
      expect(await status([user(nobody), ['Impersonate-Group', others]])).toBe(403)
      expect(await status([user(jane), ['Impersonate-Group', others]])).toBe(200)
      expect(
        await status([
          ['impersonate-uid', 'uid-1'],
          ['IMPERSONATE-USER', jane],
        ]),
      ).toBe(200)
      const extra = [
        ['Impersonate-Extra-Scopes', 'read'],
        ['Impersonate-Extra-Example.org%2Fteam', 'blue'],
      ] as const
      expect(await status([user(jane), ...extra])).toBe(200)
    })

    /** Told apart only where headers come one by one, and as bytes. */
    test.each<[string, Headers, number]>([
      ['a group with a comma', ({ nobody, readers }) => [user(nobody), ['Impersonate-Group', readers]], 200],
      [
        'several groups',
        ({ nobody, others, readers }) => [
          user(nobody),
          ['Impersonate-Group', others],
          ['Impersonate-Group', readers],
        ],
        200,
      ],
      [
        'several values of extra',
        ({ jane }) => [
          user(jane),
          ['Impersonate-Extra-scopes', 'read'],
          ['Impersonate-Extra-scopes', 'write'],
        ],
        200,
      ],
      [
        'several values of extra, of which one is not allowed',
        ({ jane }) => [user(jane), ['Impersonate-Extra-scopes', 'read'], ['Impersonate-Extra-scopes', 'all']],
        403,
      ],
      ['a name that is not ASCII', ({ zoe }) => [user(zoe)], 200],
    ])('with %s', async (_is, headers, status) => {
      const cast = await castOf(tenant)
      const answer = await listAs(cast, headers(cast))
      expect(answer.status).toBe(backend().joinsHeaders ? 400 : status)
      if (backend().joinsHeaders) expect(answer.body.message).toMatch(/has a comma|is not ASCII/)
    })

    test.each<[string, Headers, string]>([
      ['another user', () => [user('root')], 'users "root"'],
      [
        'the mightiest group',
        ({ jane }) => [user(jane), ['Impersonate-Group', 'system:masters']],
        'groups "system:masters"',
      ],
      [
        'another ServiceAccount',
        ({ acme }) => [user(`system:serviceaccount:${acme.namespace}:admin`)],
        'serviceaccounts "admin"',
      ],
      [
        'a ServiceAccount of another namespace',
        () => [user('system:serviceaccount:default:viewer')],
        'serviceaccounts "viewer"',
      ],
      [
        'another uid',
        ({ jane }) => [user(jane), ['Impersonate-Uid', 'uid-2']],
        'uids.authentication.k8s.io "uid-2"',
      ],
      [
        'another value of extra',
        ({ jane }) => [user(jane), ['Impersonate-Extra-scopes', 'all']],
        'userextras.authentication.k8s.io "all"',
      ],
      [
        'another key of extra',
        ({ jane }) => [user(jane), ['Impersonate-Extra-example.org%2fteams', 'blue']],
        'userextras.authentication.k8s.io "blue"',
      ],
    ])('as %s is forbidden', async (_is, headers, what) => {
      const cast = await castOf(tenant)
      const answer = await listAs(cast, headers(cast))
      expect(answer.status).toBe(403)
      expect(answer.body.reason).toBe('Forbidden')
      expect(answer.body.message).toContain(
        `${what} is forbidden: User "${cast.boss}" cannot impersonate resource "`,
      )
    })

    test.each<[string, number, Headers]>([
      ['a group without a user', 400, ({ others }) => [['Impersonate-Group', others]]],
      ['a uid without a user', 400, () => [['Impersonate-Uid', 'uid-1']]],
      ['extra without a user', 400, () => [['Impersonate-Extra-scopes', 'read']]],
      ['an empty user', 400, () => [user('')]],
      ['two users', 400, ({ jane, nobody }) => [user(jane), user(nobody)]],
      ['the anonymous user', 400, () => [user('system:anonymous')]],
      [
        'the anonymous group',
        400,
        ({ jane }) => [user(jane), ['Impersonate-Group', 'system:unauthenticated']],
      ],
      ['a header that means nothing', 403, ({ jane }) => [user(jane), ['Impersonate-Groups', 'x']]],
      ['nothing but such a header', 403, () => [['Impersonate-Username', 'x']]],
      [
        'more than 32 values',
        400,
        ({ jane }) => [
          user(jane),
          ...Array.from({ length: 32 }, (_, index): HeaderLine => [`Impersonate-Extra-k${index}`, 'x']),
        ],
      ],
    ])('with %s is %i', async (_is, status, headers) => {
      const cast = await castOf(tenant)
      const answer = await listAs(cast, headers(cast))
      expect(answer.status).toBe(status)
      expect(answer.body).toMatchObject({ kind: 'Status', code: status })
      expect(answer.body.message).not.toContain('cannot impersonate')
    })
  })
}
