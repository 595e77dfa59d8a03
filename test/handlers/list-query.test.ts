import { expect, test } from 'vitest'
import { parseListQuery } from '../../src/handlers/list-query.ts'

const read = (query: string) => parseListQuery(new URLSearchParams(query))
const NAME = 'apps.cozystack.io/application.name'

test.each<[query: string, value: object]>([
  ['', { labelSelector: '' }],
  ['limit=0', { labelSelector: '' }],
  ['limit=', { labelSelector: '' }],
  ['limit=500', { labelSelector: '', limit: 500 }],
  ['continue=', { labelSelector: '' }],
  ['limit=2&continue=eyJ2IjoxfQ', { labelSelector: '', limit: 2, continue: 'eyJ2IjoxfQ' }],
  [`labelSelector=${NAME}%3Dorders`, { labelSelector: `${NAME}=orders` }],
  [
    'fieldSelector=metadata.name%3Dpg-a.web',
    { labelSelector: '', fieldSelector: 'metadata.name=pg-a.web.account', exactName: 'pg-a.web' },
  ],
  ['resourceVersion=0', { labelSelector: '' }],
  ['resourceVersion=5&resourceVersionMatch=NotOlderThan', { labelSelector: '' }],
  ['timeoutSeconds=5&pretty=true&somebody=else', { labelSelector: '' }],
  ['watch=0', { labelSelector: '' }],
  ['watch=false', { labelSelector: '' }],
  ['watch=FALSE', { labelSelector: '' }],
])('?%s is read', (query, value) => {
  expect(read(query)).toEqual({ ok: true, value })
})

// `strings.EqualFold(v, "false")` and "0" are a no, the empty text a yes: k8s.io/apimachinery/pkg/runtime/conversion.go.
test.each([
  'watch',
  'watch=',
  'watch=1',
  'watch=true',
  'watch=TRUE',
  'watch=t',
  'watch=f',
  'watch=no',
  'watch=true&limit=x',
])('?%s is a watch, and there is none', (query) => {
  expect(read(query)).toMatchObject({ ok: false, failure: { reason: 'method_not_allowed', allow: ['GET'] } })
})

test.each([
  'limit=-1',
  'limit=1.5',
  'limit=abc',
  'limit=0x10',
  'limit=1e3',
  'limit=99999999999999999999',
  'limit=1&limit=1',
  'continue=a&continue=a',
  'labelSelector=&labelSelector=',
  'fieldSelector=metadata.name%3Da&fieldSelector=metadata.name%3Da',
  'watch=0&watch=1',
  'resourceVersion=5&resourceVersionMatch=Exact',
  'resourceVersionMatch=notOlderThan',
  'labelSelector=team%3Dx',
  'fieldSelector=status.user%3Dweb',
])('?%s is malformed', (query) => {
  expect(read(query)).toMatchObject({ ok: false, failure: { reason: 'request_malformed' } })
})
