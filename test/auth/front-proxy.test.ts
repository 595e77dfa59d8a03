import { describe, expect, test } from 'vitest'
import { createFrontProxyAuthenticator } from '../../src/auth/front-proxy.ts'
import type { RequestHeaderConfig } from '../../src/auth/request-header.ts'
import { linesOf } from '../../src/core/headers.ts'

const CONFIG: RequestHeaderConfig = {
  authority: 'PEM',
  allowedNames: ['front-proxy-client', 'aggregator'],
  usernameHeaders: ['x-remote-user'],
  uidHeaders: ['x-remote-uid'],
  groupHeaders: ['x-remote-group'],
  extraHeaderPrefixes: ['x-remote-extra-'],
}
const clientCertificate = { commonName: 'front-proxy-client' }

/** As Go's client puts a name on the wire, and Node takes it off. */
const onWire = (name: string): string => Buffer.from(name).toString('latin1')

const ask = (
  rawHeaders: readonly string[],
  more: object = { clientCertificate },
  config: RequestHeaderConfig | undefined = CONFIG,
) =>
  createFrontProxyAuthenticator({ requestHeader: () => config, log: () => undefined }).authenticate({
    token: undefined,
    headers: linesOf(rawHeaders),
    ...more,
  })

const refused = { ok: false, failure: { reason: 'unauthenticated' } }
const JANE = ['X-Remote-User', 'jane', 'X-Remote-Group', 'system:authenticated']

describe('the front proxy', () => {
  test('names the caller, with uid, every group and extra', async () => {
    const known = await ask([
      ...['X-Remote-User', 'jane', 'X-Remote-Uid', 'u-1'],
      ...['X-Remote-Group', 'dba', 'X-Remote-Group', 'system:authenticated'],
      ...['x-remote-extra-authentication.kubernetes.io%2fcredential-id', 'JTI=1'],
      ...['X-Remote-Extra-Scopes', 'a,b', 'x-remote-extra-scopes', 'c'],
      ...['Authorization', 'Basic eDp5', 'Impersonate-User', 'root'],
    ])
    expect(known).toEqual({
      ok: true,
      value: {
        username: 'jane',
        uid: 'u-1',
        groups: ['dba', 'system:authenticated'],
        extra: { 'authentication.kubernetes.io/credential-id': ['JTI=1'], scopes: ['a,b', 'c'] },
        vouchedBy: 'front-proxy',
      },
    })
  })

  test('FPX-04: groups with commas are single groups', async () => {
    const known = await ask([
      ...['X-Remote-User', 'jane', 'X-Remote-Group', 'cn=db,ou=x, system:masters'],
      ...['X-Remote-Group', 'system:authenticated'],
    ])
    expect(known).toMatchObject({ value: { groups: ['cn=db,ou=x, system:masters', 'system:authenticated'] } })
  })

  test('FPX-06: four hundred groups are four hundred groups', async () => {
    const groups = Array.from({ length: 400 }, (_, i) => `group-${i}`)
    const known = await ask([
      'X-Remote-User',
      'jane',
      ...groups.flatMap((group) => ['X-Remote-Group', group]),
    ])
    expect(known).toMatchObject({ value: { groups } })
  })

  test('names beyond ASCII arrive as they were', async () => {
    const known = await ask(['X-Remote-User', onWire('Jürgen'), 'X-Remote-Group', onWire('数据库')])
    expect(known).toMatchObject({ value: { username: 'Jürgen', groups: ['数据库'] } })
  })

  test('is asked for its name as the configuration says it now', async () => {
    const config = { ...CONFIG, usernameHeaders: ['x-user', 'x-remote-user'] }
    const presented = { clientCertificate: { commonName: 'aggregator' } }
    expect(await ask(JANE, presented, config)).toMatchObject({ value: { username: 'jane' } })
    expect(await ask(['X-User', 'bob', ...JANE], presented, config)).toMatchObject({
      value: { username: 'bob' },
    })
  })
})

describe('FPX-01: headers of anybody else mean nothing', () => {
  test.each([
    ['nobody with a certificate', {}],
    ['a certificate in another name', { clientCertificate: { commonName: 'jane' } }],
    ['a certificate without a name', { clientCertificate: { commonName: '' } }],
    ['no header lines', { clientCertificate, headers: undefined }],
  ])('%s', async (_who, presented) => {
    expect(await ask(JANE, presented)).toEqual({ ok: true, value: undefined })
  })

  test('and of the proxy itself while nobody knows its authority', async () => {
    const { authenticate } = createFrontProxyAuthenticator({
      requestHeader: () => undefined,
      log: () => undefined,
    })
    const asked = authenticate({ token: undefined, headers: linesOf(JANE), clientCertificate })
    expect(await asked).toEqual({ ok: true, value: undefined })
  })
})

describe('a front proxy that does not say who is calling is refused, whatever else was sent', () => {
  test.each<[string, readonly string[]]>([
    ['no name', ['X-Remote-Group', 'system:masters', 'Authorization', 'Bearer token']],
    ['an empty name', ['X-Remote-User', '', 'X-Remote-Group', 'system:masters']],
    ['underscores', ['X_Remote_User', 'admin', 'X_Remote_Group', 'system:masters']],
    ['two names', ['X-Remote-User', 'jane', 'X-Remote-User', 'admin']],
    ['two uids', ['X-Remote-User', 'jane', 'X-Remote-Uid', '1', 'X-Remote-Uid', '2']],
    ['a name that is no UTF-8', ['X-Remote-User', 'J\xfcrgen']],
    ['a group that is no UTF-8', ['X-Remote-User', 'jane', 'X-Remote-Group', 'Gr\xfcppe']],
    ['an extra that is no UTF-8', ['X-Remote-User', 'jane', 'X-Remote-Extra-A', '\xfc']],
    ['a name with a control character', ['X-Remote-User', onWire('jane\u0085')]],
    ['white space that Node leaves', ['X-Remote-User', onWire('jane\u00a0')]],
    ['nobody', ['X-Remote-User', 'system:anonymous', 'X-Remote-Group', 'system:unauthenticated']],
    ['a name in the group of nobody', ['X-Remote-User', 'jane', 'X-Remote-Group', 'system:unauthenticated']],
  ])('%s', async (_what, headers) => {
    expect(await ask(headers)).toMatchObject(refused)
  })
})
