import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type AnchorPlace,
  AUTHORITIES,
  anchorPlace,
  ENTRY,
  PRIVATE_KEY,
  PROJECTIONS,
  SOURCE,
  TARGET,
} from '../helpers/anchor-place.ts'
import { encode } from '../helpers/sync-place.ts'
import { type Made, makeCertificates } from './made.ts'

let made: Made
beforeAll(async () => {
  made = await makeCertificates()
})
afterAll(() => made?.remove())

let place: AnchorPlace
beforeEach(async () => {
  place = await anchorPlace()
})

/** As the function marks what it publishes. */
const MARKS = {
  labels: {
    'internal.cozystack.io/tenant-ca': 'true',
    'internal.cozystack.io/ca-cert-copy': 'true',
  },
}

describe('a source that is the projection itself', () => {
  const itself = (options: object) =>
    Promise.all([
      place.secret({ name: TARGET, ...options }),
      place.projection({ projections: [{ ...ENTRY, sourceSecretName: TARGET }] }),
    ])

  test('and holds a key, under whatever name, is an accident', async () => {
    const [before] = await itself({ data: { 'ca.crt': AUTHORITIES.first, other: `x${PRIVATE_KEY}` } })
    expect(await place.reconcile()).toMatchObject({
      ready: false,
      reason: 'CanonicalNameOccupied',
      wrote: false,
    })
    expect(await place.target()).toEqual(before)
    expect(place.reasons()).toEqual(['CACertCanonicalNameOccupied'])
  })

  const LOCKED: readonly (readonly [string, () => Promise<Buffer>])[] = [
    ['a keystore of OpenSSL (PKCS #12)', () => keystore('p12', [])],
    ['a keystore of an older OpenSSL (PKCS #12 with other algorithms)', () => keystore('old', OLDER)],
    ['a keystore in base64', async () => Buffer.from((await keystore('p12', [])).toString('base64'))],
    ['a private key in DER behind a password', () => lockedKey(['-v2', 'aes-256-cbc'])],
    ['a private key in DER behind a password, as of PKCS #5 1.5', () => lockedKey(['-v1', 'PBE-SHA1-3DES'])],
    // MAGIC of sun.security.provider.JavaKeyStore and JCEKS_MAGIC of com.sun.crypto.provider.JceKeyStore, version, entries.
    ['a keystore of Java', async () => Buffer.from('feedfeed0000000200000001', 'hex')],
    ['a keystore of Java (JCEKS)', async () => Buffer.from('cececece0000000200000001', 'hex')],
  ]

  test.each(LOCKED)(
    'and holds %s is an accident too: nobody can see whether there is a key in it',
    async (_, make) => {
      const more = { data: { 'ca.crt': encode(AUTHORITIES.first), other: (await make()).toString('base64') } }
      const [before] = await itself({ metadata: { labels: MARKS.labels }, more })
      expect(await place.reconcile()).toMatchObject({
        ready: false,
        reason: 'CanonicalNameOccupied',
        wrote: false,
      })
      expect(await place.target()).toEqual(before)
      expect(place.reasons()).toEqual(['CACertCanonicalNameOccupied'])
    },
  )

  const KEYLESS: readonly (readonly [string, () => Promise<Buffer>])[] = [
    ['a certificate', () => der(['x509', '-in', 'rsa.crt'])],
    ['a public key', () => der(['pkey', '-in', 'ec.key', '-pubout'])],
    ['a request', () => der(['req', '-new', '-key', 'ec.key', '-subj', '/CN=x', '-config', 'openssl.cnf'])],
    ['certificates in PKCS #7', () => der(['crl2pkcs7', '-nocrl', '-certfile', 'rsa.crt'])],
    ['a word', async () => Buffer.from('0\u0002abc')],
    ['nothing', async () => Buffer.alloc(0)],
  ]

  test.each(KEYLESS)('and holds %s in DER beside it is none', async (_, make) => {
    await itself({
      more: { data: { 'ca.crt': encode(AUTHORITIES.first), other: (await make()).toString('base64') } },
    })
    expect(await place.reason()).toBe('Projected')
    expect(place.reasons()).toEqual(['CACertCanonicalNameContract'])
  })

  test('and is as it should be counts as published', async () => {
    const [before] = await itself({
      data: { 'ca.crt': AUTHORITIES.first },
      metadata: { labels: MARKS.labels },
    })
    expect(await place.reconcile()).toMatchObject({ ready: true, reason: 'Projected', wrote: false })
    expect(await place.target()).toEqual(before)
    expect(place.events).toEqual([])
  })

  test('and is not as it should be counts as published, and says in what', async () => {
    await itself({ type: 'kubernetes.io/tls', data: { 'tls.crt': AUTHORITIES.leaf, 'tls.key': '' } })
    expect(await place.reason()).toBe('Projected')
    expect(place.events).toMatchObject([
      { reason: 'CACertCanonicalNameContract', regarding: { name: TARGET } },
    ])
    expect(place.events[0]?.note).toContain(
      'its type is not Opaque; and its key ca.crt holds no certificates alone; and it has 2 other keys; and it lacks the label internal.cozystack.io/tenant-ca',
    )
  })

  // As the released controller does; who waits for Ready is to read why it is of no use.
  test.each([
    ['garbage', { 'ca.crt': 'garbage' }],
    ['no CA', { other: 'x' }],
  ])(
    'and holds %s counts as published, and the status says that it holds no certificates',
    async (_, data) => {
      await itself({ data, metadata: { labels: MARKS.labels } })
      expect(await place.reason()).toBe('Projected')
      expect(await place.ready()).toMatchObject({
        status: 'True',
        message: expect.stringContaining('though its key ca.crt holds no certificates alone'),
      })
    },
  )

  test('and was published of another Secret is left as it is, and the status says that nobody renews it', async () => {
    await place.secret()
    await place.projection()
    await place.reconcile()
    await place.admin.change(`${PROJECTIONS}/${SOURCE}`, ({ spec }) => {
      spec.projections = [{ ...ENTRY, sourceSecretName: TARGET }]
    })
    const before = await place.target()
    expect(await place.reason()).toBe('Projected')
    expect(await place.target()).toEqual(before)
    // The generation of a sandbox's object is another now, as of a real one.
    expect(await place.ready()).toMatchObject({ message: expect.stringContaining('nobody renews it') })
    expect(place.reasons()).toEqual(['CACertCanonicalNameContract'])
  })

  test('and is not there is waited for', async () => {
    await place.projection({ projections: [{ ...ENTRY, sourceSecretName: TARGET }] })
    expect(await place.reason()).toBe('SourceNotFound')
  })
})

const OLDER = ['-certpbe', 'PBE-SHA1-3DES', '-keypbe', 'PBE-SHA1-3DES', '-macalg', 'sha1']

async function keystore(name: string, more: readonly string[]): Promise<Buffer> {
  const files = ['-in', 'rsa.crt', '-inkey', 'rsa.key', '-out', name, '-passout', 'pass:secret']
  await made.openssl(['pkcs12', '-export', ...files, ...more])
  return made.read(name)
}

async function lockedKey(algorithm: readonly string[]): Promise<Buffer> {
  const files = ['-in', 'ec.key', '-outform', 'der', '-out', 'locked', '-passout', 'pass:secret']
  await made.openssl(['pkcs8', '-topk8', ...files, ...algorithm])
  return made.read('locked')
}

async function der(args: readonly string[]): Promise<Buffer> {
  await made.openssl([...args, '-outform', 'der', '-out', 'der'])
  return made.read('der')
}
