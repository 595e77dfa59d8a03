import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseRequestHeader } from '../../src/auth/request-header.ts'
import { createRequestHeaderReader } from '../../src/auth/request-header-reader.ts'
import { fail, ok, type Result } from '../../src/core/result.ts'

let authority: string
let other: string
beforeAll(async () => {
  ;[authority = '', other = ''] = await Promise.all(['front-proxy', 'people'].map(createAuthority))
})

async function createAuthority(name: string): Promise<string> {
  const { stdout } = await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc'],
    ...['-subj', `/CN=${name}`, '-keyout', '/dev/null'],
  ])
  return stdout
}

/** As a cluster of kubeadm publishes it. */
const published = (more: Readonly<Record<string, unknown>> = {}) => ({
  'client-ca-file': other,
  'requestheader-allowed-names': '["front-proxy-client"]',
  'requestheader-client-ca-file': authority,
  'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
  'requestheader-group-headers': '["X-Remote-Group"]',
  'requestheader-uid-headers': '["X-Remote-Uid"]',
  'requestheader-username-headers': '["X-Remote-User"]',
  ...more,
})

describe('what kube-apiserver publishes about its front proxy', () => {
  test('is read, header names in lower case', () => {
    expect(parseRequestHeader(published())).toEqual({
      ok: true,
      config: {
        authority,
        allowedNames: ['front-proxy-client'],
        usernameHeaders: ['x-remote-user'],
        uidHeaders: ['x-remote-uid'],
        groupHeaders: ['x-remote-group'],
        extraHeaderPrefixes: ['x-remote-extra-'],
      },
    })
  })

  test('has no headers for uids before Kubernetes 1.33', () => {
    const parsed = parseRequestHeader(published({ 'requestheader-uid-headers': undefined }))
    expect(parsed).toMatchObject({ ok: true, config: { uidHeaders: [] } })
  })

  test('may be an authority that is being replaced: old and new', () => {
    const both = `${authority}${other}`
    const parsed = parseRequestHeader(
      published({ 'client-ca-file': '', 'requestheader-client-ca-file': both }),
    )
    expect(parsed).toMatchObject({ ok: true, config: { authority: both } })
  })

  test.each<[string, Readonly<Record<string, unknown>>, RegExp]>([
    [
      'any name is allowed',
      { 'requestheader-allowed-names': '[]' },
      /allowed-names: is empty: every certificate/,
    ],
    ['names are absent', { 'requestheader-allowed-names': undefined }, /allowed-names: is empty/],
    ['a name is empty', { 'requestheader-allowed-names': '[""]' }, /must be a JSON list of texts/],
    [
      'names are no list',
      { 'requestheader-allowed-names': 'front-proxy-client' },
      /must be a JSON list of texts/,
    ],
    ['names are numbers', { 'requestheader-allowed-names': '["a", 7]' }, /must be a JSON list of texts/],
    [
      'there is no authority',
      { 'requestheader-client-ca-file': '' },
      /requestheader-client-ca-file: is empty/,
    ],
    ['the authority is none', { 'requestheader-client-ca-file': 'x' }, /must be certificates in PEM/],
    ['no header names the user', { 'requestheader-username-headers': '[]' }, /username-headers: is empty/],
    ['a header is none', { 'requestheader-group-headers': '["X Remote"]' }, /must be names of HTTP headers/],
  ])('is refused when %s', (_what, more, problem) => {
    const parsed = parseRequestHeader(published(more))
    expect(parsed).toEqual({ ok: false, problems: expect.arrayContaining([expect.stringMatching(problem)]) })
  })

  test('is refused when people get their certificates from the same authority, in a bundle too', () => {
    for (const clients of [authority, `${other}\n${authority.replaceAll('\n', '\r\n')}`]) {
      const parsed = parseRequestHeader(published({ 'client-ca-file': clients }))
      expect(parsed).toEqual({ ok: false, problems: [expect.stringMatching(/is also in client-ca-file/)] })
    }
  })

  test.each([undefined, null, [], 'text', {}])('is refused when the ConfigMap holds %j', (data) => {
    expect(parseRequestHeader(data)).toMatchObject({ ok: false })
  })
})

describe('the reader', () => {
  function readerOf(answers: readonly Result<Readonly<Record<string, unknown>> | undefined>[]) {
    const logged: string[] = []
    const asked: (readonly string[])[] = []
    const left = [...answers]
    const reader = createRequestHeaderReader({
      kube: {
        getConfigMap: async (namespace, name) => {
          asked.push([namespace, name])
          return left.shift() ?? fail({ reason: 'kube_timeout', call: 'get ConfigMap' })
        },
      },
      log: (level, event) => logged.push(`${level} ${event}`),
    })
    return { reader, logged, asked }
  }

  test('knows nobody before it has read, and reads the one place', async () => {
    const { reader, asked } = readerOf([ok(published())])
    expect(reader.current()).toBeUndefined()
    expect(await reader.read()).toEqual([])
    expect(reader.current()).toMatchObject({ authority })
    expect(asked).toEqual([['kube-system', 'extension-apiserver-authentication']])
  })

  test('FPX-03: takes what is new, and says so once', async () => {
    const { reader, logged } = readerOf([
      ok(published()),
      ok(published()),
      ok(published({ 'client-ca-file': '', 'requestheader-client-ca-file': other })),
    ])
    for (let i = 0; i < 3; i++) await reader.read()
    expect(reader.current()?.authority).toBe(other)
    expect(logged).toEqual(['info request_header_read', 'info request_header_read'])
  })

  test('keeps what it has while the API server does not answer', async () => {
    const { reader, logged } = readerOf([ok(published())])
    await reader.read()
    expect(await reader.read()).toEqual([])
    expect(reader.current()?.authority).toBe(authority)
    expect(logged).toEqual(['info request_header_read', 'warn request_header_unread'])
  })

  test.each([
    ['gone', undefined],
    ['a danger', { 'requestheader-allowed-names': '[]' }],
  ])('believes nobody any more when it is %s, and again when it is mended', async (_what, more) => {
    const bad = more === undefined ? undefined : published(more)
    const { reader, logged } = readerOf([ok(published()), ok(bad), ok(published())])
    await reader.read()
    expect(await reader.read()).not.toEqual([])
    expect(reader.current()).toBeUndefined()
    expect(logged).toContain('error request_header_refused')
    await reader.read()
    expect(reader.current()?.authority).toBe(authority)
  })
})
