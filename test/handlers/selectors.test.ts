import { expect, test } from 'vitest'
import { parseFieldSelector, parseLabelSelector } from '../../src/handlers/selectors.ts'

const GROUP = 'apps.cozystack.io/application.group'
const KIND = 'apps.cozystack.io/application.kind'
const NAME = 'apps.cozystack.io/application.name'

test.each([
  `${NAME}=orders`,
  `${NAME}==orders`,
  `${NAME}!=orders`,
  `${NAME} = orders`,
  `${NAME}=`,
  `${NAME}`,
  `!${NAME}`,
  `${KIND} in (Postgres,MariaDB)`,
  `${KIND} in ( Postgres , MariaDB )`,
  `${KIND} notin (Redis)`,
  `${KIND}=Postgres,${NAME}=orders,${GROUP}=apps.cozystack.io`,
  `${KIND} in (Postgres,MariaDB),${NAME}!=orders`,
])('the label selector %j is passed on as it is', (selector) => {
  expect(parseLabelSelector(selector)).toEqual({ ok: true, value: selector })
})

test.each(['', ' '])('the empty label selector %j selects all', (selector) => {
  expect(parseLabelSelector(selector)).toEqual({ ok: true, value: '' })
})

test.each([
  'cnpg.io/reload=true',
  'credentials.cozystack.io/account=false',
  '!credentials.cozystack.io/account',
  `${NAME}=orders,team=x`,
  'team in (a,b)',
  'Apps.cozystack.io/application.name=orders',
])('the label selector %j names a label that a Credential does not show', (selector) => {
  const parsed = parseLabelSelector(selector)
  expect(parsed).toMatchObject({ ok: false, failure: { reason: 'request_malformed' } })
  for (const label of [GROUP, KIND, NAME]) expect(JSON.stringify(parsed)).toContain(label)
})

test.each([
  ',',
  `${NAME}=orders,`,
  `,${NAME}=orders`,
  `${NAME}=orders ${KIND}=Postgres`,
  `${NAME}=-x`,
  `${NAME}=${'x'.repeat(64)}`,
  `${NAME}=a=b`,
  `${NAME} in Postgres`,
  `${NAME} in (Postgres`,
  `${NAME} in Postgres)`,
  `${NAME} in (a),credentials.cozystack.io/account in (b`,
  `${NAME} in ((a))`,
  `${NAME}>1`,
  `${NAME}=a&limit=1`,
  `${NAME}=a\n${KIND}=b`,
  `${NAME}=a%2Cb`,
  '()',
  '=',
  '!',
])('the label selector %j is none', (selector) => {
  expect(parseLabelSelector(selector)).toMatchObject({ ok: false, failure: { reason: 'request_malformed' } })
})

test.each<[selector: string, onSecrets: string]>([
  ['', ''],
  ['metadata.name=pg-a.web', 'metadata.name=pg-a.web.account'],
  ['metadata.name==pg-a.web', 'metadata.name==pg-a.web.account'],
  ['metadata.name!=pg-a.web', 'metadata.name!=pg-a.web.account'],
  ['metadata.name = pg-a.web', 'metadata.name=pg-a.web.account'],
  ['metadata.namespace=tenant-acme', 'metadata.namespace=tenant-acme'],
  ['metadata.name=a.b,metadata.name!=a.c', 'metadata.name=a.b.account,metadata.name!=a.c.account'],
  // The name of no Credential: selects none of them, and never the Secret whose name would be empty.
  ['metadata.name=', 'metadata.name=.account'],
])('the field selector %j reads %j on Secrets', (selector, onSecrets) => {
  expect(parseFieldSelector(selector)).toEqual({ ok: true, value: onSecrets })
})

test.each([
  'type=Opaque',
  'metadata.uid=1',
  'status.user=web',
  'metadata.name>a',
  'metadata.name=A',
  'metadata.name=a b',
  'metadata.name=a\\,type=Opaque',
  'metadata.name',
  'metadata.name=a,type=Opaque',
  'xmetadata.name=a',
])('the field selector %j is refused', (selector) => {
  expect(parseFieldSelector(selector)).toMatchObject({ ok: false, failure: { reason: 'request_malformed' } })
})

test.each([
  ['commas', ','.repeat(120_000)],
  ['an open set of white space', `${NAME} in (${' '.repeat(120_000)}`],
  ['an open set of values', `${NAME} in (${'a,'.repeat(60_000)}`],
  ['white space', `${NAME}${' '.repeat(120_000)}x`],
])('a selector of 120,000 characters, %s, is refused at once', (_, selector) => {
  const startedAt = performance.now()
  expect(parseLabelSelector(selector)).toMatchObject({ ok: false })
  expect(parseFieldSelector(selector)).toMatchObject({ ok: false })
  expect(performance.now() - startedAt).toBeLessThan(200)
})

test.each([
  ['commas', ','.repeat(4096)],
  ['an open set of white space', `${NAME} in (${' '.repeat(4000)}`],
  ['an open set of values', `${NAME} in (${'a,'.repeat(2000)}`],
])('the longest selector that is looked at, %s, costs little', (_, selector) => {
  const startedAt = performance.now()
  expect(parseLabelSelector(selector)).toMatchObject({ ok: false })
  expect(performance.now() - startedAt).toBeLessThan(500)
})
