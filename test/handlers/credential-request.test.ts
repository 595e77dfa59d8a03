import { expect, test } from 'vitest'
import { parseCredentialRequest } from '../../src/handlers/credential-request.ts'

const addressed = {
  apiVersion: 'core.cozystack.io/v1alpha1',
  name: 'postgres-orders.web',
  namespace: 'tenant-acme',
} as const
const valid = { apiVersion: addressed.apiVersion, kind: 'CredentialRequest' } as const

const parse = (text: string, query = '') =>
  parseCredentialRequest(new URLSearchParams(query), new TextEncoder().encode(text), addressed)
const parseJson = (body: unknown, query = '') => parse(JSON.stringify(body), query)

const read = (preconditions: object, warnings: readonly string[] = []) => ({
  ok: true,
  value: { preconditions, dryRun: false, warnings },
})
const malformed = (message: RegExp | string) => ({
  ok: false,
  failure: { reason: 'request_malformed', message: expect.stringMatching(message) },
})

test('no bytes mean no preconditions', () => {
  expect(parse('')).toEqual(read({}))
  expect(parse('', '?dryRun=All')).toMatchObject({ value: { dryRun: true } })
})

test.each<[what: string, body: object, preconditions: object]>([
  ['nothing', {}, {}],
  ['its type only', valid, {}],
  ['an empty spec', { ...valid, spec: {} }, {}],
  ['a spec that is null', { ...valid, spec: null }, {}],
  ['preconditions that are null', { ...valid, spec: { preconditions: null } }, {}],
  ['a precondition that is null', { ...valid, spec: { preconditions: { uid: null } } }, {}],
  ['a version', { ...valid, spec: { preconditions: { resourceVersion: '10' } } }, { resourceVersion: '10' }],
  [
    'a version and a uid',
    { ...valid, spec: { preconditions: { resourceVersion: '10', uid: 'u' } } },
    { resourceVersion: '10', uid: 'u' },
  ],
  ['what a typed client adds', { ...valid, metadata: { creationTimestamp: null }, spec: {}, status: {} }, {}],
  ['its own name', { ...valid, metadata: { name: addressed.name, namespace: addressed.namespace } }, {}],
  ['an empty name', { ...valid, metadata: { name: '', namespace: '' } }, {}],
  ['metadata that is null', { ...valid, metadata: null }, {}],
])('a request with %s is read', (_, body, preconditions) => {
  expect(parseJson(body)).toEqual(read(preconditions))
})

test.each<[body: string, message: RegExp]>([
  ['null', /JSON object/],
  ['[]', /JSON object/],
  ['"mint"', /JSON object/],
  ['1', /JSON object/],
  ['{', /JSON object/],
  ['{}{}', /JSON object/],
  ["{'kind':1}", /JSON object/],
  ['{"kind":"CredentialRequest",}', /JSON object/],
  ['apiVersion: v1', /JSON object/],
  ['dryRun=All', /JSON object/],
  ['\ufeff{}', /JSON object/],
  ['{"kind":"Credential"}', /kind must be CredentialRequest/],
  ['{"kind":1}', /kind must be CredentialRequest/],
  ['{"apiVersion":"v1"}', /apiVersion must be core/],
  ['{"apiVersion":null}', /apiVersion must be core/],
  ['{"metadata":[]}', /metadata must be an object/],
  ['{"metadata":"x"}', /metadata must be an object/],
  ['{"metadata":{"name":"postgres-orders.report"}}', /metadata\.name does not match/],
  ['{"metadata":{"namespace":"tenant-other"}}', /metadata\.namespace does not match/],
  ['{"metadata":{"name":7}}', /metadata\.name does not match/],
  ['{"spec":[]}', /spec must be an object/],
  ['{"spec":"x"}', /spec must be an object/],
  ['{"spec":{"preconditions":[]}}', /spec\.preconditions must be an object/],
  ['{"spec":{"preconditions":{"resourceVersion":10}}}', /resourceVersion must be a string/],
  ['{"spec":{"preconditions":{"uid":{}}}}', /uid must be a string/],
])('the body %s is malformed', (body, message) => {
  expect(parse(body)).toEqual(malformed(message))
})

test('bytes that are no UTF-8 are malformed', () => {
  const bytes = Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d)
  expect(parseCredentialRequest(new URLSearchParams(), bytes, addressed)).toEqual(malformed(/JSON object/))
})

test.each(['', '0'])('the version %j would match anything and is invalid', (resourceVersion) => {
  expect(parseJson({ ...valid, spec: { preconditions: { resourceVersion } } })).toMatchObject({
    ok: false,
    failure: {
      reason: 'request_invalid',
      name: addressed.name,
      causes: [{ reason: 'FieldValueInvalid', field: 'spec.preconditions.resourceVersion' }],
    },
  })
})

test('an empty uid is invalid too, and both are named', () => {
  const answer = parseJson({ ...valid, spec: { preconditions: { resourceVersion: '0', uid: '' } } })
  expect(answer).toMatchObject({
    failure: {
      reason: 'request_invalid',
      causes: [{ field: 'spec.preconditions.resourceVersion' }, { field: 'spec.preconditions.uid' }],
    },
  })
})

/** Each with the words of kube-apiserver (KEP-2885). */
const unusual: readonly [text: string, problem: string][] = [
  ['{"spec":{"precondition":{"uid":"u"}}}', 'unknown field "spec.precondition"'],
  ['{"spec":{"preconditions":{"UID":"u"}}}', 'unknown field "spec.preconditions.UID"'],
  ['{"preconditions":{"uid":"u"}}', 'unknown field "preconditions"'],
  ['{"metadata":{"labels":{}}}', 'unknown field "metadata.labels"'],
  ['{"__proto__":{"uid":"u"}}', 'unknown field "__proto__"'],
  ['{"spec":{"constructor":1}}', 'unknown field "spec.constructor"'],
  ['{"spec":{},"spec":{}}', 'duplicate field "spec"'],
  ['{"spec":{"preconditions":{"uid":"a","uid":"b"}}}', 'duplicate field "spec.preconditions.uid"'],
]

test.each(unusual)('by default %s is refused', (text, problem) => {
  expect(parse(text)).toEqual({
    ok: false,
    failure: { reason: 'request_malformed', message: `strict decoding error: ${problem}` },
  })
  expect(parse(text, '?fieldValidation=Strict')).toMatchObject({ ok: false })
})

test.each(unusual)('with fieldValidation=Warn %s passes with a warning', (text, problem) => {
  expect(parse(text, '?fieldValidation=Warn')).toMatchObject({ ok: true, value: { warnings: [problem] } })
})

test.each(unusual)('with fieldValidation=Ignore %s passes', (text) => {
  expect(parse(text, '?fieldValidation=Ignore')).toMatchObject({ ok: true, value: { warnings: [] } })
})

test('several problems are named in one answer', () => {
  expect(parse('{"a":1,"b":2,"kind":"CredentialRequest","kind":"CredentialRequest"}')).toEqual(
    malformed('^strict decoding error: unknown field "a", unknown field "b", duplicate field "kind"$'),
  )
})

test.each(['Strict', 'Warn'])(
  'thousands of wrong fields, or long ones, make no long answer (%s)',
  (validation) => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`f${index}`, 1]))
    const long = { ['x'.repeat(60_000)]: 1 }
    for (const body of [many, long]) {
      expect(JSON.stringify(parseJson(body, `?fieldValidation=${validation}`)).length).toBeLessThan(4096)
    }
  },
)

test('what Object.prototype has is no precondition', () => {
  expect(parse('{"spec":{"preconditions":{}}}')).toEqual(read({}))
  expect(parse('{"spec":{"__proto__":{"preconditions":{"uid":"u"}}}}', '?fieldValidation=Ignore')).toEqual(
    read({}),
  )
})

test('a wrong query is told before the body is looked at', () => {
  expect(parse('{', '?dryRun=Maybe')).toEqual(malformed(/dryRun/))
})
