import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NO_WEBHOOKS, readWebhook, type Webhooks } from '../../src/definitions/webhook.ts'
import { createWebhooks } from '../../src/definitions/webhook-client.ts'
import { hostProblem } from '../../src/definitions/webhook-hosts.ts'
import { type TestAuthority, testAuthority } from '../helpers/webhook-server.ts'

let authority: TestAuthority
beforeAll(async () => {
  authority = await testAuthority()
})
afterAll(() => authority?.remove())

const calling = (hosts: readonly string[]): Webhooks => ({
  hosts,
  ask: async () => ({ ok: false, why: 'nobody is asked' }),
})
const service = { namespace: 'cozy-system', name: 'hashes' }
const read = (
  clientConfig: unknown,
  hosts: readonly string[] = ['.svc', 'hooks.example'],
  more: object = {},
) => readWebhook({ clientConfig, ...more }, 'at', calling(hosts), [])

describe('a webhook', () => {
  test('is a Service at port 443 with the system’s authorities and five seconds, when nothing else is said', () => {
    expect(read({ service })).toMatchObject({
      webhook: {
        url: 'https://hashes.cozy-system.svc:443/',
        host: 'hashes.cozy-system.svc',
        ca: undefined,
        timeoutMs: 5000,
        mayBeLocal: false,
      },
    })
  })

  test('is at the port and the path that it names, for as long as it says', () => {
    const config = { service: { ...service, port: 8443, path: '/v1/scram' } }
    expect(read(config, undefined, { timeoutSeconds: 10 })).toMatchObject({
      webhook: { url: 'https://hashes.cozy-system.svc:8443/v1/scram', timeoutMs: 10_000 },
    })
  })

  test('is known by its authorities', () => {
    expect(read({ service, caBundle: authority.caBundle })).toMatchObject({
      webhook: { ca: expect.stringMatching(/^-----BEGIN CERTIFICATE-----/) },
    })
  })

  test('may lead to this machine when the configuration names its host itself', () => {
    expect(read({ url: 'https://hooks.example/x' })).toMatchObject({ webhook: { mayBeLocal: true } })
    expect(read({ url: 'https://a.hooks.example' }, ['.hooks.example'])).toMatchObject({
      webhook: { mayBeLocal: false },
    })
  })

  test.each([
    ['no object', 'https://hooks.example', 'at.clientConfig'],
    ['neither', {}, 'at.clientConfig'],
    ['both', { service, url: 'https://hooks.example' }, 'at.clientConfig'],
    ['an unknown field', { service, insecureSkipTLSVerify: true }, 'at.clientConfig.insecureSkipTLSVerify'],
    [
      'a Service with an unknown field',
      { service: { ...service, protocol: 'http' } },
      'at.clientConfig.service.protocol',
    ],
    ['a Service without a namespace', { service: { name: 'a' } }, 'at.clientConfig.service.namespace'],
    ['a Service that climbs', { service: { ...service, name: '../x' } }, 'at.clientConfig.service.name'],
    [
      'a Service that is a host',
      { service: { ...service, name: 'evil.example' } },
      'at.clientConfig.service.name',
    ],
    ['port 0', { service: { ...service, port: 0 } }, 'at.clientConfig.service.port'],
    ['a port as text', { service: { ...service, port: '443' } }, 'at.clientConfig.service.port'],
    ['a path that is none', { service: { ...service, path: 'v1' } }, 'at.clientConfig.service.path'],
    [
      'a path that is another host',
      { service: { ...service, path: '@evil.example/' } },
      'at.clientConfig.service.path',
    ],
    ['a path that climbs', { service: { ...service, path: '/a/../b' } }, 'at.clientConfig.service.path'],
    ['a path with a query', { service: { ...service, path: '/a?b=c' } }, 'at.clientConfig.service.path'],
    ['plain HTTP', { url: 'http://hooks.example' }, 'at.clientConfig.url'],
    ['no URL', { url: 'hooks.example' }, 'at.clientConfig.url'],
    ['a user', { url: 'https://user:pw@hooks.example' }, 'at.clientConfig.url'],
    ['a query', { url: 'https://hooks.example/?token=1' }, 'at.clientConfig.url'],
    ['a fragment', { url: 'https://hooks.example/#x' }, 'at.clientConfig.url'],
    ['another host', { url: 'https://other.example' }, 'at.clientConfig.url'],
    ['authorities that are no base64', { service, caBundle: '-----BEGIN' }, 'at.clientConfig.caBundle'],
    ['authorities that are no certificates', { service, caBundle: 'cGVt' }, 'at.clientConfig.caBundle'],
    ['no authorities', { service, caBundle: '' }, 'at.clientConfig.caBundle'],
  ])('is refused by its field with %s', (_, config, field) => {
    expect(read(config)).toMatchObject({ ok: false, field })
  })

  test.each([0, 11, 1.5, '5', null])('is refused with %j seconds', (timeoutSeconds) => {
    const refused = { ok: false, field: 'at.timeoutSeconds' }
    if (timeoutSeconds === null)
      expect(read({ service }, undefined, { timeoutSeconds })).toMatchObject({ ok: true })
    else expect(read({ service }, undefined, { timeoutSeconds })).toMatchObject(refused)
  })

  test('is refused where it cannot be checked who answers', async () => {
    const inWorker = createWebhooks({
      hosts: ['.svc'],
      connect: undefined,
      randomBytes: (length) => new Uint8Array(length),
    })
    expect(
      readWebhook({ clientConfig: { service, caBundle: authority.caBundle } }, 'at', inWorker, []),
    ).toEqual({
      ok: false,
      field: 'at.clientConfig',
      problem: 'this runtime calls no webhook: it cannot check a caBundle, nor where a name leads',
    })
    expect(readWebhook({ clientConfig: { service } }, 'at', NO_WEBHOOKS, [])).toMatchObject({ ok: false })
  })
})

describe('EXT-01 by suffixes alone a definition names', () => {
  const everything = ['.svc', '.example', '.internal', '.localhost', '.254']
  test.each([
    'https://127.0.0.1',
    'https://169.254.169.254',
    'https://2852039166',
    'https://0x7f.1',
    'https://[::1]',
    'https://[::ffff:169.254.169.254]',
    'https://localhost',
    'https://LOCALHOST.',
    'https://a.localhost',
    'https://metadata.google.internal',
    'https://instance-data.ec2.internal',
    'https://10.0.0.1',
  ])('never %s', (url) => {
    expect(read({ url }, everything)).toMatchObject({ ok: false, field: 'at.clientConfig.url' })
  })

  test('no host whose name only ends alike, and not the suffix itself', () => {
    expect(hostProblem('evilexample', ['.example'])).toBeDefined()
    expect(hostProblem('example', ['.example'])).toBeDefined()
    expect(hostProblem('a.example', ['.example'])).toBeUndefined()
    expect(hostProblem('a.example', ['example'])).toBeDefined()
  })

  test('what the configuration names itself', () => {
    expect(read({ url: 'https://127.0.0.1:8443/' }, ['127.0.0.1'])).toMatchObject({
      webhook: { mayBeLocal: true },
    })
    expect(read({ url: 'https://[::1]/' }, ['[::1]'])).toMatchObject({ webhook: { host: '[::1]' } })
  })
})
