import { describe, expect, test } from 'vitest'
import { selectsAccountSecrets } from '../../src/definitions/secret-selectors.ts'

const labels = { 'cnpg.io/reload': 'true', 'k8s.mariadb.com/watch': '' }
const shows = (secrets: unknown) => selectsAccountSecrets(secrets, 'Postgres', labels)
const including = (selector: object) => shows({ include: [selector] })
const expression = (key: string, operator: string, ...values: readonly string[]) => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }],
})

// Names and labels are those of the platform's own definitions.
test.each([
  ['nothing', undefined],
  ['empty lists', { include: [], exclude: [] }],
  ['the Secret of the chart', { include: [{ resourceNames: ['postgres-{{ .name }}-credentials'] }] }],
  [
    'the CA of the application',
    { include: [{ matchLabels: { 'internal.cozystack.io/tenant-ca': 'true' } }] },
  ],
  ['user Secrets', { include: [{ matchLabels: { 'apps.cozystack.io/user-secret': 'true' } }] }],
  [
    'Secrets of a namespace',
    { include: [{ resourceNames: ['kubeconfig-{{ .namespace }}', '{{ .namespace }}'] }] },
  ],
  ['a fixed name', { include: [{ resourceNames: ['grafana-admin-password'] }] }],
])('%s may be shown', (_, secrets) => {
  expect(shows(secrets)).toBe(false)
})

test.each([
  ['selectors that are no list', { include: { matchLabels: {} } }],
  ['a selector that is no object', { include: ['postgres-{{ .name }}-credentials'] }],
  ['labels that are no object', { include: [{ matchLabels: ['cnpg.io/reload'] }] }],
  ['expressions that are no list', { include: [{ matchExpressions: { key: 'a' } }] }],
  ['names that are no list', { include: [{ resourceNames: 'postgres-{{ .name }}-credentials' }] }],
  ['an exclusion that nobody understands', { include: [{}], exclude: 'everything' }],
])('%s may show anything', (_, secrets) => {
  expect(shows(secrets)).toBe(true)
})

describe('labels that reach account Secrets are seen:', () => {
  test.each([
    ['an empty selector, which takes everything', {}],
    ['the mark of account Secrets', { matchLabels: { 'credentials.cozystack.io/account': 'true' } }],
    ['a label of the definition', { matchLabels: { 'cnpg.io/reload': 'true' } }],
    ['an empty label of the definition', { matchLabels: { 'k8s.mariadb.com/watch': '' } }],
    ['the kind', { matchLabels: { 'apps.cozystack.io/application.kind': 'Postgres' } }],
    ['some application', { matchLabels: { 'apps.cozystack.io/application.name': 'orders' } }],
    ['what the platform stamps', { matchLabels: { 'internal.cozystack.io/managed-by-cozystack': 'true' } }],
    ['a value among others', expression('cnpg.io/reload', 'In', 'false', 'true')],
    ['any value but another', expression('cnpg.io/reload', 'NotIn', 'false')],
    ['a label that is not there, by NotIn', expression('app', 'NotIn', 'x')],
    ['a label that is there', expression('cnpg.io/reload', 'Exists')],
    ['a label that is not there', expression('app', 'DoesNotExist')],
    ['an operator that nobody knows', expression('app', 'Gt', '1')],
  ])('%s', (_, selector) => {
    expect(including(selector)).toBe(true)
  })

  test.each([
    ['another value', { matchLabels: { 'cnpg.io/reload': 'false' } }],
    ['another kind', { matchLabels: { 'apps.cozystack.io/application.kind': 'Redis' } }],
    ['one label of two', { matchLabels: { 'cnpg.io/reload': 'true', app: 'x' } }],
    ['other values', expression('cnpg.io/reload', 'In', 'false')],
    ['any value but this', expression('cnpg.io/reload', 'NotIn', 'true')],
    ['a label that is not there', expression('app', 'Exists')],
    ['a label that is there, by its absence', expression('cnpg.io/reload', 'DoesNotExist')],
    ['a label and an expression that fails', { ...expression('app', 'Exists'), matchLabels: labels }],
  ])('and %s is not one', (_, selector) => {
    expect(including(selector)).toBe(false)
  })
})

describe('names that reach account Secrets are seen:', () => {
  test.each([
    'postgres-{{ .name }}.web.account',
    'postgres-{{.name}}.{{- .kind -}}.account',
    '{{ .namespace }}.web.account',
    '{{ printf "postgres-%s.web.account" .name }}',
    'postgres-{{ .name }}{{ ".web.account" }}',
  ])('%s', (name) => {
    expect(including({ resourceNames: ['other', name] })).toBe(true)
  })

  test.each(['{{ .name }}.account', 'account', 'a.b.c.account', '..account', 'x.web.accounts'])(
    'and %s is not one',
    (name) => {
      expect(including({ resourceNames: [name] })).toBe(false)
    },
  )

  test('labels and names must both reach', () => {
    const resourceNames = ['postgres-{{ .name }}.web.account']
    expect(including({ resourceNames, matchLabels: { app: 'x' } })).toBe(false)
    expect(including({ resourceNames: ['other'], matchLabels: { 'cnpg.io/reload': 'true' } })).toBe(false)
  })

  test('an empty list of names is not trusted to stay one', () => {
    expect(including({ resourceNames: [] })).toBe(true)
  })
})

describe('an exclusion', () => {
  const all = (exclude: readonly object[]) => shows({ include: [{}], exclude })

  test('by a label that every account Secret has takes them all out', () => {
    expect(all([{ matchLabels: { 'credentials.cozystack.io/account': 'true' } }])).toBe(false)
    expect(all([{}])).toBe(false)
  })

  test.each([
    ['of some application', { matchLabels: { 'apps.cozystack.io/application.name': 'orders' } }],
    ['of some account', { resourceNames: ['postgres-{{ .name }}.web.account'] }],
    ['of no names', { resourceNames: [] }],
    ['by a label that comes later', { matchLabels: { 'internal.cozystack.io/tenantresource': 'false' } }],
    [
      'by a label that comes later, whatever it says',
      expression('internal.cozystack.io/tenantresource', 'Exists'),
    ],
    ['by another label', { matchLabels: { app: 'x' } }],
  ])('%s does not', (_, selector) => {
    expect(all([selector])).toBe(true)
  })
})
