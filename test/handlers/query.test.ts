import { expect, test } from 'vitest'
import { parseQuery } from '../../src/handlers/query.ts'

const read = (query: string) => parseQuery(new URLSearchParams(query))

test.each<[query: string, dryRun: boolean, fieldValidation: string]>([
  ['', false, 'Strict'],
  ['dryRun=All', true, 'Strict'],
  ['fieldValidation=', false, 'Strict'],
  ['fieldValidation=Strict', false, 'Strict'],
  ['fieldValidation=Warn', false, 'Warn'],
  ['fieldValidation=Ignore&dryRun=All', true, 'Ignore'],
  ['fieldManager=kubectl-create&pretty=false&timeout=30s', false, 'Strict'],
])('?%s is a dry run: %s, validated: %s', (query, dryRun, fieldValidation) => {
  expect(read(query)).toEqual({ ok: true, value: { dryRun, fieldValidation } })
})

test.each([
  'dryRun',
  'dryRun=',
  'dryRun=Maybe',
  'dryRun=all',
  'dryRun=true',
  'dryRun=All%20',
  'dryRun=None',
  'dryRun=&dryRun=All',
  'dryRun=All&dryRun=',
  'dryRun=All&dryRun=All',
  'dryRun=All&dryRun=Maybe',
])('SEC-10: ?%s is refused and is never a real mint', (query) => {
  expect(read(query)).toMatchObject({ ok: false, failure: { reason: 'request_malformed' } })
})

test.each([
  'dryrun=All',
  'DryRun=All',
  'dry_run=All',
  'dryRun%3DAll',
  'dryRun[]=All',
  'a;dryRun=All',
  '%00dryRun=All',
  '=',
  '__proto__=1',
  'fieldValidation=strict',
  'fieldValidation=Warn&fieldValidation=Warn',
  'fieldValidation=constructor',
])('?%s is refused: what nobody reads might have been meant to prevent the mint', (query) => {
  expect(read(query)).toMatchObject({ ok: false, failure: { reason: 'request_malformed' } })
})
