import { describe, expect, test } from 'vitest'
import { utf8 } from '../../src/core/text.ts'
import { type CloudEvent, headerAttribute, parseCloudEvents } from '../../src/handlers/cloud-event.ts'
import { hintIn } from '../../src/handlers/hint.ts'
import { binary, reference, structured } from '../helpers/cloud-events.ts'

const parse = (headers: Readonly<Record<string, string>>, body: string) =>
  parseCloudEvents(new Headers(headers), utf8(body))

/** What is made of the one event of a request: undefined when it means nothing here. */
function hintOf(headers: Readonly<Record<string, string>>, body: string, anchors = false) {
  const events = parse(headers, body)
  if (!events.ok) return events.failure.reason
  const [event] = events.value
  if (event === undefined) return 'no event'
  const hint = hintIn(event, { anchors })
  return hint.ok ? hint.value : hint.failure.reason
}

const ORDERS = { is: 'release', target: { namespace: 'tenant-acme', release: 'postgres-orders' } }
const REF = 'dev.knative.apiserver.ref.update'
const STRUCTURED = { 'content-type': 'application/cloudevents+json' }
const FULL = {
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  metadata: { namespace: 'tenant-acme', name: 'postgres-orders', uid: 'u' },
  spec: { values: { users: { web: { password: 'plain' } } } },
}

describe('an event names a HelmRelease', () => {
  test.each(
    ['ref', 'resource'].flatMap((mode) => ['add', 'update', 'delete'].map((verb) => `${mode}.${verb}`)),
  )('by the attributes of an ApiServerSource: %s', (what) => {
    const { headers } = binary({ type: `dev.knative.apiserver.${what}` })
    expect(hintOf(headers, '')).toEqual(ORDERS)
    expect(hintOf(headers, 'no JSON')).toEqual(ORDERS)
  })

  test('by its data, an ObjectReference or the whole object', () => {
    const headers = {
      'ce-specversion': '1.0',
      'ce-id': '1',
      'ce-source': 'https://10.0.0.1:443',
      'ce-type': REF,
      'content-type': 'application/json',
    }
    expect(hintOf(headers, JSON.stringify(reference))).toEqual(ORDERS)
    expect(
      hintOf({ ...headers, 'ce-type': 'dev.knative.apiserver.resource.add' }, JSON.stringify(FULL)),
    ).toEqual(ORDERS)
    expect(hintOf({ ...headers, 'content-type': 'text/plain' }, JSON.stringify(reference))).toBeUndefined()
  })

  test('in structured mode, its data as JSON or in base64', () => {
    for (const data of [
      { data: reference },
      { data: FULL },
      { data_base64: btoa(JSON.stringify(reference)) },
      { data: reference, datacontenttype: 'application/json; charset=utf-8' },
      { kind: 'HelmRelease', namespace: 'tenant-acme', name: 'postgres-orders', data: 'anything' },
    ]) {
      expect(hintOf(STRUCTURED, JSON.stringify(structured(REF, data)))).toEqual(ORDERS)
    }
    const other = structured(REF, { data: reference, datacontenttype: 'text/plain' })
    expect(hintOf(STRUCTURED, JSON.stringify(other))).toBeUndefined()
  })
})

test.each<[what: string, event: object]>([
  ['another type', structured('com.example.else', { data: reference })],
  ['a type that goes on', structured(`${REF}d`, { data: reference })],
  ['another kind', structured(REF, { data: { ...reference, kind: 'HelmChart' } })],
  ['the kind of another group', structured(REF, { data: { ...reference, apiVersion: 'example.org/v2' } })],
  [
    'the kind of a group that begins alike',
    structured(REF, { data: { ...reference, apiVersion: 'helm.toolkit.fluxcd.io.evil/v2' } }),
  ],
  ['no data', structured(REF, {})],
  ['data that is no object', structured(REF, { data: [reference] })],
  ['inherited names', structured(REF, { data: { ['__proto__']: reference, toString: 'x' } })],
])('an event of %s means nothing', (_, event) => {
  expect(hintOf(STRUCTURED, JSON.stringify(event))).toBeUndefined()
})

test('an event of a PingSource is a tick', () => {
  expect(hintOf(STRUCTURED, JSON.stringify(structured('dev.knative.sources.ping', { data: {} })))).toEqual({
    is: 'tick',
  })
})

test.each(['../b', 'a/b', 'A', '', 'a b', 'x'.repeat(254), 'a%2fb', 'é', 'a\nb'])(
  'the name %j is refused',
  (name) => {
    const named = (part: object) =>
      hintOf(STRUCTURED, JSON.stringify(structured(REF, { data: { ...reference, ...part } })))
    expect(named({ name })).toBe('request_malformed')
    expect(named({ namespace: name })).toBe('request_malformed')
  },
)

describe('where CAs are published', () => {
  const hintAbout = (type: string, more: object) =>
    hintOf(STRUCTURED, JSON.stringify(structured(`dev.knative.apiserver.${type}`, more)), true)
  const PROJECTION = { apiVersion: 'internal.cozystack.io/v1alpha1', kind: 'TenantProjection' }
  const SECRET = { apiVersion: 'v1', kind: 'Secret' }
  const NAMED = { namespace: 'tenant-acme', name: 'postgres-orders-ca' }
  const ATTRIBUTES = { kind: 'Secret', apiversion: 'v1', ...NAMED }
  const SOURCE = { is: 'secret', target: { namespace: 'tenant-acme', secret: 'postgres-orders-ca' } }

  test('an event may name a TenantProjection, in either mode', () => {
    const declared = { is: 'projection', target: NAMED }
    expect(hintAbout('ref.add', { data: { ...PROJECTION, ...NAMED } })).toEqual(declared)
    expect(hintAbout('resource.add', { data: { ...PROJECTION, metadata: NAMED } })).toEqual(declared)
    const other = { ...PROJECTION, apiVersion: 'example.org/v1' }
    expect(hintAbout('ref.add', { data: { ...other, ...NAMED } })).toBeUndefined()
    expect(hintOf(STRUCTURED, JSON.stringify(structured(REF, { data: reference })), true)).toEqual(ORDERS)
  })

  test('an event may name a Secret, in mode Reference only', () => {
    expect(hintAbout('ref.update', { data: { ...SECRET, ...NAMED } })).toEqual(SOURCE)
    expect(hintAbout('ref.update', ATTRIBUTES)).toEqual(SOURCE)
    const whole = { ...SECRET, metadata: NAMED, data: { 'ca.key': 'LS0t' } }
    expect(hintAbout('resource.update', { data: whole })).toBeUndefined()
    expect(hintAbout('resource.update', { data: whole, ...ATTRIBUTES })).toBeUndefined()
    expect(hintAbout('resource.update', { data: { ...SECRET, ...NAMED } })).toBeUndefined()
    const other = { ...SECRET, apiVersion: 'example.org/v1' }
    expect(hintAbout('ref.update', { data: { ...other, ...NAMED } })).toBeUndefined()
  })

  test('what an event has for data is not even parsed when its attributes are enough', () => {
    const event: CloudEvent = {
      type: REF,
      attribute: (name) => new Map(Object.entries(ATTRIBUTES)).get(name),
      get data(): unknown {
        throw new Error('was read')
      },
    }
    expect(hintIn(event, { anchors: true })).toEqual({ ok: true, value: SOURCE })
  })

  test.each([
    ['what a mint writes', 'postgres-orders.web.account'],
    ['what Helm keeps', 'sh.helm.release.v1.postgres-orders.v7'],
  ])('%s is no CA', (_, name) => {
    expect(hintAbout('ref.add', { data: { ...SECRET, namespace: 'tenant-acme', name } })).toBeUndefined()
  })

  test.each(['../b', 'a/b', 'A', '', 'x'.repeat(254)])('the name %j is refused', (name) => {
    for (const kind of [PROJECTION, SECRET]) {
      expect(hintAbout('ref.add', { data: { ...kind, ...NAMED, name } })).toBe('request_malformed')
      expect(hintAbout('ref.add', { data: { ...kind, ...NAMED, namespace: name } })).toBe('request_malformed')
    }
  })

  test('elsewhere none of it means anything', () => {
    const about = (data: object) => hintOf(STRUCTURED, JSON.stringify(structured(REF, { data })))
    expect(about({ ...PROJECTION, ...NAMED })).toBeUndefined()
    expect(about({ ...SECRET, ...NAMED })).toBeUndefined()
  })
})

describe('attributes in headers', () => {
  test.each([
    ['postgres-orders', 'postgres-orders'],
    ['Euro%20%E2%82%AC%20%F0%9F%98%80', 'Euro € 😀'],
    ['"a \\"quoted\\" one"', 'a "quoted" one'],
    ['%41', 'A'],
    ['%2541', '%41'],
    ['100%', '100%'],
    ['%ff', '%ff'],
  ])('%j reads %j', (value, expected) => {
    expect(headerAttribute(new Headers({ 'ce-name': value }), 'name')).toBe(expected)
  })
})

test.each<[what: string, headers: Readonly<Record<string, string>>, body: string, reason?: string]>([
  ['a plain POST', {}, '{}'],
  ['a plain POST of JSON', { 'content-type': 'application/json' }, JSON.stringify(reference)],
  ['an older version', { ...binary({}).headers, 'ce-specversion': '0.3' }, ''],
  ['no id', { ...binary({}).headers, 'ce-id': '' }, ''],
  ['no source', { ...binary({}).headers, 'ce-source': '' }, ''],
  ['no type', { ...binary({}).headers, 'ce-type': '' }, ''],
  ['no JSON', STRUCTURED, '{'],
  ['null', STRUCTURED, 'null'],
  ['a list where there is to be one event', STRUCTURED, JSON.stringify([structured(REF, {})])],
  ['one event where there is to be a list', { 'content-type': 'application/cloudevents-batch+json' }, '{}'],
  [
    'a batch with something else in it',
    { 'content-type': 'application/cloudevents-batch+json' },
    JSON.stringify([structured(REF, { data: reference }), {}]),
  ],
  [
    'a batch that is too long',
    { 'content-type': 'application/cloudevents-batch+json' },
    JSON.stringify(Array.from({ length: 1001 }, () => structured(REF, {}))),
  ],
  ['an id that is no text', STRUCTURED, JSON.stringify({ ...structured(REF, {}), id: 1 })],
  [
    'an event in XML',
    { 'content-type': 'application/cloudevents+xml' },
    '<event/>',
    'media_type_unsupported',
  ],
  ['an event in no format', { 'content-type': 'application/cloudevents' }, '{}', 'media_type_unsupported'],
])('%s is no CloudEvent', (_, headers, body, reason = 'request_malformed') => {
  const events = parse(headers, body)
  expect(events.ok ? 'events' : events.failure.reason).toBe(reason)
})

test.each(['Application/CloudEvents+JSON; charset=utf-8', 'application/cloudevents+json'])(
  'the mode is told by the media type: %s',
  (type) => {
    expect(hintOf({ 'content-type': type }, JSON.stringify(structured(REF, { data: reference })))).toEqual(
      ORDERS,
    )
  },
)

test('a batch may be empty', () => {
  expect(parse({ 'content-type': 'application/cloudevents-batch+json' }, '[]')).toEqual({
    ok: true,
    value: [],
  })
})
