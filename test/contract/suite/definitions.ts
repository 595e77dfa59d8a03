import { describe, expect, onTestFinished, test } from 'vitest'
import type { Contract } from '../contract.ts'
import type { Anything } from '../kube.ts'
import type { Tenant } from '../tenant.ts'

const DEFINITIONS = '/apis/cozystack.io/v1alpha1/applicationdefinitions'
const ANNOTATION = 'credentials.cozystack.io/definition'
const GOOD = { format: { name: 'sha256' }, accounts: [{ kind: 'ValuesMap', path: 'users' }] }

let kinds = 0

/** A kind of its own, with this definition, for the time of the test: definitions are the whole cluster's. */
export async function define(
  acme: Tenant,
  change: (definition: Anything) => void,
): Promise<{ kind: string; name: string }> {
  kinds += 1
  const name = `thing${kinds}${acme.namespace.slice(-5)}`
  const kind = `Thing${kinds}${acme.namespace.slice(-5)}`
  const definition = {
    apiVersion: 'cozystack.io/v1alpha1',
    kind: 'ApplicationDefinition',
    metadata: { name, annotations: {} },
    spec: {
      application: { kind, plural: `${name}s`, singular: name, openAPISchema: '{}' },
      release: {
        prefix: `${name}-`,
        chartRef: { kind: 'OCIRepository', name, namespace: 'cozy-system' },
      },
      credentials: structuredClone(GOOD),
    },
  }
  change(definition)
  await acme.admin.create(DEFINITIONS, definition)
  onTestFinished(async () => {
    const isThere = (await acme.admin.find(`${DEFINITIONS}/${name}`)) !== undefined
    if (isThere) await acme.admin.remove(`${DEFINITIONS}/${name}`)
  })
  return { kind, name }
}

export function definitions({ tenant }: Contract): void {
  describe('a definition', () => {
    test('of a new kind is all that a platform engineer writes', async () => {
      const acme = await tenant()
      const { kind } = await define(acme, () => undefined)
      await acme.release(kind, 'one', { users: { etl: {} } })
      expect((await acme.mint('one.etl')).status).toBe(201)
    })

    test('may stand in an annotation', async () => {
      const acme = await tenant()
      const { kind } = await define(acme, (definition) => {
        definition.metadata.annotations[ANNOTATION] = JSON.stringify(GOOD)
        delete definition.spec.credentials
      })
      await acme.release(kind, 'one', { users: { etl: {} } })
      expect((await acme.mint('one.etl')).status).toBe(201)
    })

    test('without rules serves no credentials', async () => {
      const acme = await tenant()
      const { kind } = await define(acme, (definition) => {
        delete definition.spec.credentials
      })
      await acme.release(kind, 'one', { users: { etl: {} } })
      const answer = await acme.mint('one.etl')
      expect(answer.status).toBe(404)
      expect(answer.body.message).toContain(`applications of kind ${kind} have no minted credentials`)
      await acme.release('NoSuchKind', 'two', { users: { etl: {} } })
      expect((await acme.mint('two.etl')).status).toBe(404)
    })

    test.each([
      ['an unknown format', 'spec.credentials.format.name', { ...GOOD, format: { name: 'md5' } }],
      [
        'a source of an unknown kind',
        'spec.credentials.accounts[1].kind',
        { ...GOOD, accounts: [...GOOD.accounts, { kind: 'Script', script: 'users' }] },
      ],
      [
        'an expression that does not compile',
        'spec.credentials.accounts[1].expression',
        { ...GOOD, accounts: [...GOOD.accounts, { kind: 'Expression', expression: 'values.users' }] },
      ],
      [
        'a reserved label',
        'spec.credentials.secretLabels',
        { ...GOOD, secretLabels: { 'app.kubernetes.io/name': 'x' } },
      ],
      [
        'plaintext in Helm values',
        'spec.credentials.valuesPath',
        { ...GOOD, format: { name: 'plaintext' }, valuesPath: '_accounts' },
      ],
    ])('with %s fails closed and names the field', async (_name, field, credentials) => {
      const acme = await tenant()
      const { kind, name } = await define(acme, (definition) => {
        // Not as the field: the schema of a CRD may refuse it there, before it comes to us.
        delete definition.spec.credentials
        definition.metadata.annotations[ANNOTATION] = JSON.stringify(credentials)
      })
      await acme.release(kind, 'one', { users: { etl: { note: 'private-value' } } })
      const answer = await acme.mint('one.etl')
      expect(answer.status).toBe(500)
      expect(answer.body).toMatchObject({ kind: 'Status', reason: 'InternalError', code: 500 })
      expect(answer.body.message).toContain(`ApplicationDefinition "${name}" is wrong: ${field}`)
      expect(answer.text).not.toContain('private-value')
      expect((await acme.revoke('one.etl')).status).toBe(500)
      expect(await acme.secret('one.etl')).toBeUndefined()
    })

    test.each([
      ['is no JSON', GOOD, '{'],
      ['is no object', GOOD, '[]'],
      ['differs from the field', GOOD, JSON.stringify({ ...GOOD, format: { name: 'plaintext' } })],
      [
        'gives a field twice',
        undefined,
        '{"format":{"name":"md5"},"format":{"name":"sha256"},"accounts":[{"kind":"ValuesMap","path":"users"}]}',
      ],
      [
        // SEC-14: a label's value is a text; what YAML reads as a boolean is not turned into one.
        'has a label that is no text',
        undefined,
        JSON.stringify({ ...GOOD, secretLabels: { 'cnpg.io/reload': true } }),
      ],
    ])('whose annotation %s fails closed', async (_name, credentials, annotation) => {
      const acme = await tenant()
      const { kind, name } = await define(acme, (definition) => {
        definition.spec.credentials = credentials
        definition.metadata.annotations[ANNOTATION] = annotation
      })
      await acme.release(kind, 'one', { users: { etl: {} } })
      const answer = await acme.mint('one.etl')
      expect(answer.status).toBe(500)
      expect(answer.body.message).toContain(`ApplicationDefinition "${name}" is wrong: `)
      expect(await acme.secret('one.etl')).toBeUndefined()
    })

    test('may say the same in field and annotation, in any order', async () => {
      const acme = await tenant()
      const { kind } = await define(acme, (definition) => {
        const { format, accounts } = GOOD
        definition.metadata.annotations[ANNOTATION] = JSON.stringify({ accounts, format })
      })
      await acme.release(kind, 'one', { users: { etl: {} } })
      expect((await acme.mint('one.etl')).status).toBe(201)
    })

    test('that breaks later stops mints, and hides nothing from reads', async () => {
      const acme = await tenant()
      const { kind, name } = await define(acme, () => undefined)
      await acme.release(kind, 'one', { users: { etl: {} } })
      await acme.mint('one.etl')
      const before = await acme.secret('one.etl')
      await acme.admin.change(`${DEFINITIONS}/${name}`, (definition) => {
        definition.spec.credentials.format.name = 'md5'
      })
      expect((await acme.mint('one.etl')).status).toBe(500)
      expect((await acme.get('one.etl')).body.status.password.origin).toBe('Minted')
      expect((await acme.list()).body.items).toHaveLength(1)
      expect(await acme.secret('one.etl')).toEqual(before)
    })

    test('whose spec.secrets would show an account Secret is wrong', async () => {
      const acme = await tenant()
      const { kind } = await define(acme, (definition) => {
        definition.spec.secrets = {
          include: [{ matchLabels: { 'apps.cozystack.io/application.name': 'one' } }],
        }
      })
      await acme.release(kind, 'one', { users: { etl: {} } })
      const answer = await acme.mint('one.etl')
      expect(answer.status).toBe(500)
      expect(answer.body.message).toContain('spec.secrets')
    })

    test('given twice for one kind stops that kind only', async () => {
      const acme = await tenant()
      const { kind, name } = await define(acme, () => undefined)
      const second = await define(acme, (definition) => {
        definition.spec.application.kind = kind
      })
      await acme.release(kind, 'one', { users: { etl: {} } })
      await acme.release('ClickHouse', 'events', { users: { etl: {} } })
      const answer = await acme.mint('one.etl')
      expect(answer.status).toBe(500)
      for (const each of [name, second.name]) expect(answer.body.message).toContain(each)
      expect((await acme.mint('clickhouse-events.etl')).status).toBe(201)
      await acme.admin.remove(`${DEFINITIONS}/${second.name}`)
      expect((await acme.mint('one.etl')).status).toBe(201)
    })

    test('that is gone stops mints, and hides nothing from lists', async () => {
      const acme = await tenant()
      const { kind, name } = await define(acme, () => undefined)
      await acme.release(kind, 'one', { users: { etl: {} } })
      await acme.mint('one.etl')
      await acme.admin.remove(`${DEFINITIONS}/${name}`)
      expect((await acme.mint('one.etl')).status).toBe(404)
      expect((await acme.get('one.etl')).status).toBe(200)
      expect((await acme.list()).body.items).toHaveLength(1)
    })

    test('with labels for the operator has them on the Secret after a create and after an update', async () => {
      const acme = await tenant()
      const { kind } = await define(acme, (definition) => {
        definition.spec.credentials.secretLabels = { 'example.com/watch': 'yes' }
      })
      await acme.release(kind, 'one', { users: { etl: {} } })
      for (let round = 0; round < 2; round += 1) {
        await acme.mint('one.etl')
        expect((await acme.secret('one.etl')).metadata.labels['example.com/watch']).toBe('yes')
      }
    })
  })

  describe('values', () => {
    test('ACC-03: of a wrong shape are 422 where they are wrong, and their neighbours mint', async () => {
      const acme = await tenant()
      await acme.release('ClickHouse', 'events', {
        users: { u5: {}, u6: null, u7: '', u8: { password: 'inline' } },
      })
      const answers = await Promise.all(
        ['u5', 'u6', 'u7', 'u8'].map((user) => acme.mint(`clickhouse-events.${user}`)),
      )
      expect(answers.map(({ status }) => status)).toEqual([201, 404, 422, 201])
      expect(answers[2]?.body.details.causes).toEqual([
        {
          reason: 'FieldValueTypeInvalid',
          field: 'spec.values.users["u7"]',
          message: 'must be a map, and is a text',
        },
      ])
      expect(answers[3]?.text).not.toContain('inline')
    })

    test.each([
      ['a list', { users: [] }, 422],
      ['a text', { users: 'abc' }, 422],
      ['nothing', {}, 404],
    ])('ACC-03: users that are %s', async (_name, values, status) => {
      const acme = await tenant()
      await acme.release('ClickHouse', 'events', values)
      const answer = await acme.mint('clickhouse-events.u5')
      expect(answer.status).toBe(status)
      if (status === 422) expect(answer.body.message).toContain('spec.values.users')
    })

    test('ACC-03: none at all is 404', async () => {
      const acme = await tenant()
      await acme.release('ClickHouse', 'events', {}, { spec: { values: undefined } })
      expect((await acme.mint('clickhouse-events.u5')).status).toBe(404)
    })

    test.each([
      [{}, 201],
      [{ authEnabled: true }, 201],
      [{ authEnabled: false }, 404],
      [{ authEnabled: 'yes' }, 422],
    ])('%j decide about an account with a condition', async (values, status) => {
      const acme = await tenant()
      await acme.release('Redis', 'cache', values)
      expect((await acme.mint('redis-cache.default')).status).toBe(status)
    })

    test('with a username that is too long or holds a control character are 422 for that one', async () => {
      const acme = await tenant()
      const long = 'u'.repeat(64)
      await acme.release('ClickHouse', 'events', { users: { [long]: {}, 'a\tb': {}, ok: {} } })
      expect((await acme.mint(`clickhouse-events.${long}`)).status).toBe(422)
      expect((await acme.mint('clickhouse-events.a-b')).status).toBe(422)
      expect((await acme.mint('clickhouse-events.ok')).status).toBe(201)
    })

    test('with more than 256 accounts are 422', async () => {
      const acme = await tenant()
      const users = Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`u${index}`, {}]))
      await acme.release('ClickHouse', 'events', { users })
      expect((await acme.mint('clickhouse-events.u1')).status).toBe(422)
    })
  })
}
