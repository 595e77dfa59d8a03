import { expect, test } from 'vitest'
import { parseNamespace, parseTarget } from '../../src/handlers/addressed.ts'
import { checkTarget } from '../../src/handlers/target.ts'

const BASE = '/apis/core.cozystack.io/v1alpha1/namespaces/a/credentials'

test.each([
  '/',
  '/livez',
  BASE,
  `${BASE}/x.y`,
  `${BASE}/x.y/mint`,
  `${BASE}/x.y/mint?dryRun=All`,
  `${BASE}?labelSelector=a%3Db&continue=..%2F..`,
  `${BASE}/x.y/mint?`,
  `${BASE}/x.y/mint??a=/../..`,
])('the target %s is looked at further', (target) => {
  expect(checkTarget(target)).toEqual({ ok: true, value: undefined })
})

test.each([
  ['an encoded slash', `${BASE}/x.y/mint/..%2f..%2f..%2f..%2fb/credentials/y.z/mint`],
  ['an encoded slash in capitals', `${BASE}/x.y%2Fmint`],
  ['an encoded dot', `${BASE}/%2e%2e/b`],
  ['an encoded letter', `${BASE}/%78.y/mint`],
  ['an encoded percent sign', `${BASE}/%252e%252e/mint`],
  ['an encoded NUL', `${BASE}/x.y%00/mint`],
  ['a dot segment', `${BASE}/./x.y/mint`],
  ['a double dot segment', `${BASE}/../credentials/x.y/mint`],
  ['a double dot segment at the end', `${BASE}/x.y/mint/..`],
  ['a dot at the end', `${BASE}/x.y/mint/.`],
  ['a double slash', `${BASE}//x.y/mint`],
  ['a double slash in front', `/${BASE}/x.y/mint`],
  ['a slash at the end', `${BASE}/x.y/mint/`],
  ['a slash before the query', `${BASE}/x.y/mint/?dryRun=All`],
  ['a semicolon', `${BASE}/x.y;v=1/mint`],
  ['a backslash', `${BASE}\\x.y\\mint`],
  ['a mixed slash and backslash', `${BASE}/..\\b/mint`],
  ['a fragment', `${BASE}/x.y/mint#`],
  ['white space', `${BASE}/x.y /mint`],
  ['a tab', `${BASE}/x.y\t/mint`],
  ['a letter beyond ASCII', `${BASE}/é.y/mint`],
  ['a full-width dot', `${BASE}/\uff0e\uff0e/mint`],
  ['an absolute form', `http://other.test${BASE}/x.y/mint`],
  ['an authority form', 'other.test:443'],
  ['an asterisk', '*'],
  ['no slash in front', BASE.slice(1)],
  ['nothing', ''],
  ['nothing but a query', '?a=b'],
])('a target with %s is refused and not interpreted', (_, target) => {
  expect(checkTarget(target)).toMatchObject({ ok: false, failure: { reason: 'request_malformed' } })
})

test.each(['%F0%27', '%a', '%A4%A2', '%', '%zz', '%u0061', '%E0%A4%A'])(
  'HTTP-02: the user segment %s is refused and never taken for a name',
  (segment) => {
    expect(checkTarget(`${BASE}/x.${segment}/mint`)).toMatchObject({
      ok: false,
      failure: { reason: 'request_malformed' },
    })
  },
)

test('a target of 100,000 segments costs little', () => {
  const startedAt = performance.now()
  expect(checkTarget(`${'/a'.repeat(100_000)}%`)).toMatchObject({ ok: false })
  expect(performance.now() - startedAt).toBeLessThan(500)
})

test('a path names a namespace and a credential, which splits at its first dot', () => {
  expect(parseTarget('tenant-acme', 'postgres-orders.web')).toEqual({
    ok: true,
    value: { namespace: 'tenant-acme', name: { release: 'postgres-orders', account: 'web' } },
  })
})

test.each(['', '-a', 'a-', 'A', 'a.b', 'a_b', 'a'.repeat(64), 'a\n', '..', 'é'])(
  'the namespace %j is no DNS label',
  (namespace) => {
    const refused = { ok: false, failure: { reason: 'request_malformed' } }
    expect(parseNamespace(namespace)).toMatchObject(refused)
    expect(parseTarget(namespace, 'postgres-orders.web')).toMatchObject(refused)
  },
)

test.each([
  '',
  '.',
  '..',
  'web',
  '.web',
  'orders.',
  'orders..web',
  'orders.-web',
  'orders.web-',
  'Orders.web',
  'orders.we_b',
  'orders.web\n',
])('NAM-07: the name %j is no credential', (name) => {
  expect(parseTarget('tenant-acme', name)).toMatchObject({
    ok: false,
    failure: { reason: 'request_malformed' },
  })
})
