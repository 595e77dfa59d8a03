import { expect, test } from 'vitest'
import { encodeData } from '../../src/core/text.ts'
import { ACCOUNT_SELECTOR, viewOf } from '../../src/credentials/view.ts'
import type { StoredSecret } from '../../src/k8s/objects.ts'
import { accountAnnotations, accountSecret, applicationLabels, mintedByJane } from '../helpers/orders.ts'

test('a view has the identity, the user and the record of the Secret, and nothing else', () => {
  const secret = accountSecret({
    metadata: {
      labels: {
        'credentials.cozystack.io/account': 'true',
        ...applicationLabels,
        'cnpg.io/reload': 'true',
        team: 'x',
      },
      annotations: accountAnnotations({ note: 'y' }),
      finalizers: ['example.com/hold'],
    },
  })
  const managed = { ...secret, metadata: { ...secret.metadata, managedFields: [{ manager: 'mintonce' }] } }
  expect(viewOf(managed)).toEqual({
    metadata: {
      name: 'postgres-orders.web',
      namespace: 'tenant-acme',
      uid: 'secret-uid-1',
      resourceVersion: '10',
      creationTimestamp: '2026-10-01T00:00:00Z',
      labels: applicationLabels,
    },
    spec: { application: { apiGroup: 'apps.cozystack.io', kind: 'Postgres', name: 'orders' }, user: 'web' },
    status: {
      password: { origin: 'Minted', at: '2026-10-01T08:00:00Z', by: 'jane@example.org' },
      history: [mintedByJane],
    },
  })
})

test('the stored value is nowhere in a view, encoded or not', () => {
  const stored = 'SCRAM-SHA-256$4096:AAEC'
  const view = JSON.stringify(
    viewOf(
      accountSecret({
        data: { username: encodeData('web'), password: encodeData(stored), extra: encodeData(stored) },
      }),
    ),
  )
  expect(view).toContain('"user":"web"')
  expect(view).not.toContain(stored)
  expect(view).not.toContain(encodeData(stored))
})

test('without a history there is no time and nobody', () => {
  const annotations = accountAnnotations({ 'credentials.cozystack.io/history': 'spoilt' })
  expect(viewOf(accountSecret({ metadata: { annotations } }))?.status).toEqual({
    password: { origin: 'Minted' },
    history: [],
  })
})

test('ACC-12: the user is the one in the Secret, however its name is spelt', () => {
  const secret = accountSecret({
    data: { username: encodeData('App_User') },
    metadata: { name: 'postgres-orders.app-user.account' },
  })
  expect(viewOf(secret)).toMatchObject({
    metadata: { name: 'postgres-orders.app-user' },
    spec: { user: 'App_User' },
  })
})

test('the release is never derived from a prefix: an application may be called as its release ends', () => {
  const labels = {
    'credentials.cozystack.io/account': 'true',
    ...applicationLabels,
    'apps.cozystack.io/application.name': 'root',
  }
  expect(viewOf(accountSecret({ metadata: { name: 'tenant-root.web.account', labels } }))).toBeDefined()
})

const shown = accountSecret()
const without = (key: string, from: Readonly<Record<string, string>> | undefined) =>
  Object.fromEntries(Object.entries(from ?? {}).filter(([name]) => name !== key))

test.each<[what: string, secret: StoredSecret]>([
  ['without our label', accountSecret({ metadata: { labels: applicationLabels } })],
  [
    'with our label but another value',
    accountSecret({
      metadata: { labels: { ...shown.metadata.labels, 'credentials.cozystack.io/account': 'yes' } },
    }),
  ],
  ['without an origin', accountSecret({ metadata: { annotations: {} } })],
  [
    'of an unknown origin',
    accountSecret({
      metadata: { annotations: accountAnnotations({ 'credentials.cozystack.io/origin': 'Bought' }) },
    }),
  ],
  [
    'without annotations',
    accountSecret({ metadata: { annotations: undefined as unknown as Record<string, string> } }),
  ],
  ['whose name has another ending', accountSecret({ metadata: { name: 'postgres-orders.web' } })],
  ['whose name has one part', accountSecret({ metadata: { name: 'web.account' } })],
  ['whose name is of another user', accountSecret({ metadata: { name: 'postgres-orders.report.account' } })],
  [
    'whose name is of another application',
    accountSecret({ metadata: { name: 'postgres-shop.web.account' } }),
  ],
  ['without a username', accountSecret({ data: {} })],
  [
    'whose username is no UTF-8',
    accountSecret({ data: { username: Buffer.from([0xff]).toString('base64') } }),
  ],
  ...Object.keys(applicationLabels).map((label): [string, StoredSecret] => [
    `without ${label}`,
    accountSecret({ metadata: { labels: without(label, shown.metadata.labels) } }),
  ]),
])('a Secret %s is shown to nobody', (_, secret) => {
  expect(viewOf(shown)).toBeDefined()
  expect(viewOf(secret)).toBeUndefined()
})

test('a list asks for Secrets with our label only', () => {
  expect(ACCOUNT_SELECTOR).toBe('credentials.cozystack.io/account=true')
})
