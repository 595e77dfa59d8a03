import { describe, expect, test } from 'vitest'
import { GROUP } from '../backend.ts'
import type { Contract } from '../contract.ts'
import type { Anything } from '../kube.ts'
import { adminOfTenant } from '../tenant.ts'

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
/** What kubectl sends. */
const KUBECTL = `${TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`

const names = (list: Anything): readonly string[] => list.items.map(({ metadata }: Anything) => metadata.name)

export function read({ tenant }: Contract): void {
  const three = async () => {
    const acme = await tenant()
    await acme.release('Postgres', 'orders', { users: { web: {}, report: {} } })
    await acme.release('MariaDB', 'shop', { users: { app: {} } })
    for (const name of ['postgres-orders.web', 'postgres-orders.report', 'mariadb-shop.app'])
      await acme.mint(name)
    return acme
  }

  describe('reading', () => {
    test('shows origin and history, and nothing of the Secret', async () => {
      const acme = await three()
      const { status, body, text } = await acme.get('postgres-orders.web')
      const secret = await acme.secret('postgres-orders.web')
      expect(status).toBe(200)
      expect(body).toEqual({
        apiVersion: `${GROUP}/v1alpha1`,
        kind: 'Credential',
        metadata: {
          name: 'postgres-orders.web',
          namespace: acme.namespace,
          uid: secret.metadata.uid,
          resourceVersion: secret.metadata.resourceVersion,
          creationTimestamp: secret.metadata.creationTimestamp,
          labels: {
            'apps.cozystack.io/application.group': 'apps.cozystack.io',
            'apps.cozystack.io/application.kind': 'Postgres',
            'apps.cozystack.io/application.name': 'orders',
          },
        },
        spec: {
          application: { apiGroup: 'apps.cozystack.io', kind: 'Postgres', name: 'orders' },
          user: 'web',
        },
        status: {
          password: { origin: 'Minted', at: expect.any(String), by: adminOfTenant(acme) },
          history: [{ operation: 'Mint', at: expect.any(String), by: adminOfTenant(acme) }],
        },
      })
      for (const hidden of ['cnpg.io', 'managedFields', 'SCRAM', 'ownerReferences', secret.data.password]) {
        expect(text).not.toContain(hidden)
      }
    })

    test('lists one namespace', async () => {
      const acme = await three()
      const { status, body } = await acme.list()
      expect(status).toBe(200)
      expect(body).toMatchObject({ apiVersion: `${GROUP}/v1alpha1`, kind: 'CredentialList' })
      expect(body.metadata.resourceVersion).toMatch(/^\d+$/)
      expect(names(body)).toEqual(['mariadb-shop.app', 'postgres-orders.report', 'postgres-orders.web'])
      expect(body.items[0]).toMatchObject({ kind: 'Credential', spec: { user: 'app' } })
    })

    const LABEL = 'apps.cozystack.io/application'
    test.each([
      [`labelSelector=${LABEL}.kind=MariaDB`, ['mariadb-shop.app']],
      [
        `labelSelector=${LABEL}.kind!=MariaDB,${LABEL}.name==orders`,
        ['postgres-orders.report', 'postgres-orders.web'],
      ],
      [`labelSelector=${LABEL}.name in (shop, other)`, ['mariadb-shop.app']],
      [`labelSelector=${LABEL}.name notin (shop)`, ['postgres-orders.report', 'postgres-orders.web']],
      [`labelSelector=!${LABEL}.name`, []],
      [
        `labelSelector=${LABEL}.group&fieldSelector=metadata.name=postgres-orders.web`,
        ['postgres-orders.web'],
      ],
      ['fieldSelector=metadata.name!=postgres-orders.web', ['mariadb-shop.app', 'postgres-orders.report']],
      ['fieldSelector=metadata.name=nothing', []],
      [
        'labelSelector=&fieldSelector=',
        ['mariadb-shop.app', 'postgres-orders.report', 'postgres-orders.web'],
      ],
    ])('selects by %s', async (query, expected) => {
      const acme = await three()
      const answer = await acme.list(new URLSearchParams(query).toString())
      expect(answer.status).toBe(200)
      expect(names(answer.body)).toEqual(expected)
    })

    test.each([
      ['labelSelector=team=x', 400],
      ['labelSelector=credentials.cozystack.io/account', 400],
      ['labelSelector==', 400],
      ['labelSelector=a&labelSelector=b', 400],
      ['fieldSelector=data.username=web', 400],
      ['fieldSelector=type=x', 400],
      ['limit=ten', 400],
      ['limit=-1', 400],
      ['limit=1&limit=2', 400],
      ['continue=%21%21', 400],
      ['continue=bm90IGEgdG9rZW4', 400],
      ['resourceVersionMatch=Exact&resourceVersion=1', 400],
      ['includeObject=Everything', 400],
    ])('refuses ?%s with %i, and says why', async (query, status) => {
      const acme = await three()
      const answer = await acme.list(query)
      expect(answer.status).toBe(status)
      expect(answer.body).toMatchObject({ kind: 'Status', status: 'Failure', code: status })
      expect(answer.body.message.length).toBeGreaterThan(10)
    })

    test('names the three labels that a selector may name', async () => {
      const acme = await tenant()
      const { body } = await acme.list('labelSelector=team%3Dx')
      for (const part of ['group', 'kind', 'name']) expect(body.message).toContain(`application.${part}`)
    })

    test('pages through everything, once each', async () => {
      const acme = await three()
      const seen: string[] = []
      let next = ''
      do {
        const { status, body } = await acme.list(
          new URLSearchParams({ limit: '1', continue: next }).toString(),
        )
        expect(status).toBe(200)
        expect(body.items.length).toBeLessThanOrEqual(1)
        seen.push(...names(body))
        next = body.metadata.continue ?? ''
      } while (next !== '')
      expect(seen).toEqual(['mariadb-shop.app', 'postgres-orders.report', 'postgres-orders.web'])
    })

    test('AGG-04: answers a Table to kubectl', async () => {
      const acme = await three()
      const { headers, body, text } = await acme.list('limit=500', { headers: { Accept: KUBECTL } })
      expect(headers.get('content-type')).toContain('application/json')
      expect(body).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' })
      expect(body.columnDefinitions.map(({ name }: Anything) => name)).toEqual([
        'Name',
        'Application',
        'User',
        'Origin',
        'Age',
        'Kind',
        'Issued',
        'By',
      ])
      const wide = body.columnDefinitions.filter(({ priority }: Anything) => priority > 0)
      expect(wide.map(({ name }: Anything) => name)).toEqual(['Kind', 'Issued', 'By'])
      expect(headers.get('cache-control')).toMatch(/\bno-store$/)
      const row = body.rows.find(({ cells }: Anything) => cells[0] === 'postgres-orders.web')
      expect(row.cells.slice(0, 4)).toEqual(['postgres-orders.web', 'orders', 'web', 'Minted'])
      expect(row.cells[4]).toMatch(/^\d+s$/)
      expect(row.object).toMatchObject({
        kind: 'PartialObjectMetadata',
        metadata: { name: 'postgres-orders.web' },
      })
      expect(text).not.toContain('SCRAM')
      expect(row.cells.slice(5)).toEqual(['Postgres', expect.stringMatching(/Z$/), adminOfTenant(acme)])
      const one = await acme.get('postgres-orders.web', { headers: { Accept: KUBECTL } })
      expect(one.body.rows).toHaveLength(1)
    })

    test.each([
      ['None', undefined],
      ['Metadata', 'PartialObjectMetadata'],
      ['Object', 'Credential'],
    ])('with includeObject=%s puts that into the rows', async (include, kind) => {
      const acme = await three()
      const { body } = await acme.list(`includeObject=${include}`, { headers: { Accept: TABLE } })
      expect(body.rows.map((row: Anything) => row.object?.kind)).toEqual([kind, kind, kind])
    })

    test.each([
      'text/html',
      'application/yaml',
      'application/vnd.kubernetes.protobuf',
      'application/json;as=Table;v=v2;g=meta.k8s.io',
      'application/json;q=0',
    ])('to %s alone is 406', async (accept) => {
      const acme = await three()
      const answer = await acme.list('', { headers: { Accept: accept } })
      expect(answer.status).toBe(406)
      expect(answer.body.reason).toBe('NotAcceptable')
    })

    test.each([
      '*/*',
      'application/*',
      'application/vnd.kubernetes.protobuf,application/json',
      'application/json; charset=utf-8',
    ])('to %s is JSON', async (accept) => {
      const acme = await three()
      expect((await acme.list('', { headers: { Accept: accept } })).body.kind).toBe('CredentialList')
    })

    test.each([
      ['with no label of ours', { labels: null }],
      ['with an unknown origin', { annotations: { 'credentials.cozystack.io/origin': 'Stolen' } }],
      ['with another user', { data: { username: Buffer.from('other').toString('base64') } }],
      ['with the label of another application', { name: 'billing' }],
    ])('does not show a Secret %s', async (_name, change: Anything) => {
      const acme = await three()
      await acme.admin.change(acme.secretPath('postgres-orders.web'), (secret) => {
        if (change.labels === null) delete secret.metadata.labels['credentials.cozystack.io/account']
        Object.assign(secret.metadata.annotations, change.annotations)
        Object.assign(secret.data, change.data)
        if (change.name) secret.metadata.labels['apps.cozystack.io/application.name'] = change.name
      })
      expect((await acme.get('postgres-orders.web')).status).toBe(404)
      expect(names((await acme.list()).body)).toEqual(['mariadb-shop.app', 'postgres-orders.report'])
    })

    test('of what is not there is 404', async () => {
      const acme = await tenant()
      const { status, body } = await acme.get('postgres-orders.web')
      expect(status).toBe(404)
      expect(body.message).toBe(`credentials.${GROUP} "postgres-orders.web" not found`)
    })
  })
}
