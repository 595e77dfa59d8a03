import { X509Certificate } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { type Published, publishable } from '../../src/trust-anchor/certificates.ts'
import { hidesPrivateKey } from '../../src/trust-anchor/private-key.ts'
import { element, withSignature } from './element.ts'
import { makeCertificates } from './made.ts'
import { armoured, certificateOf, derOf } from './values.ts'

const made = await makeCertificates()
afterAll(made.remove)
const { openssl } = made

const OCTETS = 0x04
const SEQUENCE = 0x30
const BITS = 0x03
const UTF8 = 0x0c
const bits = (bytes: Uint8Array): Buffer => element(BITS, Buffer.from([0]), bytes)
const text = (value: string): Buffer => element(UTF8, Buffer.from(value))

/** OpenSSL's certificate with these lines among its extensions. */
async function certified(lines: string, key = 'ec.key', more = ''): Promise<string> {
  const sections = '[req]\ndistinguished_name = n\nprompt = no\nx509_extensions = x\n[n]\nCN = outer\n[x]\n'
  await made.write('hidden.cnf', `${sections}${lines}\n${more}`)
  return openssl(['req', '-x509', '-config', 'hidden.cnf', '-key', key, '-days', '1'])
}
const extended = (value: Uint8Array): Promise<string> =>
  certified(`1.2.3.4 = DER:${Buffer.from(value).toString('hex')}`)

/** The certificate with other bytes for its signature, which nobody checks of an anchor. */
const signedBy = (bytes: Uint8Array): string =>
  armoured(withSignature(derOf(certificateOf(made, 'rsa')), bytes))

const judged = (pem: string): Promise<Published> => publishable(Buffer.from(pem))
const PRIVATE_KEY = { ok: false, failure: { is: 'private-key' } }

const plain = [...made.keys].filter(([name]) => !name.includes('encrypted'))
const [first = ''] = plain.map(([, pem]) => pem)

describe('a private key in a well-formed certificate is refused', () => {
  test('of every kind', () => {
    expect(plain.map(([name]) => name)).toEqual([
      'PKCS #1',
      'PKCS #8, RSA',
      'PKCS #8, EC',
      'PKCS #8, Ed25519',
      'SEC 1',
    ])
  })

  test.each(plain)('%s, wherever it is', async (_name, pem) => {
    const der = derOf(pem)
    const certificates = [
      await extended(der),
      await extended(element(SEQUENCE, text('key'), element(OCTETS, der))),
      await extended(element(SEQUENCE, bits(der))),
      // As a unique identifier has it, and with bits that are said to be left over.
      await extended(element(SEQUENCE, element(0x81, Buffer.from([0]), der))),
      await extended(element(SEQUENCE, element(BITS, Buffer.from([1]), der))),
      await extended(text(der.toString('base64'))),
      await extended(text(Buffer.from(pem).toString('base64'))),
      await certified(`nsComment = ${Buffer.from(pem).toString('base64')}`),
      signedBy(der),
      signedBy(Buffer.from(der.toString('base64'))),
      signedBy(Buffer.from(pem)),
    ]
    for (const certificate of certificates) {
      // Otherwise it would be refused for another reason.
      expect(new X509Certificate(derOf(certificate)).subject).toMatch(/^CN=/)
      expect(await judged(certificate)).toEqual(PRIVATE_KEY)
      expect(await judged(certificateOf(made, 'ec') + certificate)).toEqual(PRIVATE_KEY)
    }
  })

  test("OpenSSL's form of a DSA key", async () => {
    await openssl([
      'genpkey',
      '-genparam',
      '-algorithm',
      'DSA',
      '-pkeyopt',
      'dsa_paramgen_bits:1024',
      '-out',
      'dsa.param',
    ])
    await openssl(['genpkey', '-paramfile', 'dsa.param', '-out', 'dsa.key'])
    const pem = await openssl(['pkey', '-in', 'dsa.key', '-traditional'])
    expect(pem).toContain('BEGIN DSA PRIVATE KEY')
    expect(await judged(await extended(derOf(pem)))).toEqual(PRIVATE_KEY)
  })

  test('of the shortest curve that has a name', async () => {
    const key = ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:secp112r1', '-out', 'short.key']
    await openssl(['genpkey', ...key])
    const pem = await openssl(['ec', '-in', 'short.key', '-no_public', '-param_enc', 'named_curve'])
    expect(hidesPrivateKey(derOf(pem))).toBe(true)
    // Without its parameters, which RFC 5915 leaves to the reader.
    expect(
      hidesPrivateKey(element(SEQUENCE, Buffer.from('020101', 'hex'), element(OCTETS, Buffer.alloc(14, 1)))),
    ).toBe(true)
  })

  test('and so is a string in a string in a string, and so on, whatever is at the end', async () => {
    const wrapped = (times: number): Buffer =>
      times === 0 ? element(OCTETS, Buffer.alloc(40, 'x')) : element(OCTETS, wrapped(times - 1))
    expect(await judged(await extended(wrapped(5)))).toMatchObject({ ok: true })
    expect(await judged(await extended(wrapped(50)))).toEqual(PRIVATE_KEY)
  })
})

test('a key that is encoded as base64 more than once is one', async () => {
  const once = Buffer.from(first).toString('base64')
  expect(await judged(Buffer.from(once).toString('base64'))).toEqual(PRIVATE_KEY)
})

describe('what only looks like a private key is published', () => {
  test.each<readonly [string, string, string, RegExp]>([
    // A SEQUENCE of the INTEGER 0, which is the version of a key.
    ['a path length of no authority', 'basicConstraints = CA:FALSE,pathlen:0', '', /3003020100/],
    [
      'a number of a notice',
      'certificatePolicies = @policy',
      '[policy]\npolicyIdentifier = 1.2.3.4\nuserNotice.1 = @notice\n[notice]\norganization = x\nnoticeNumbers = 1,2,3,4,5,6,7,8,9\n',
      /301b020101020102/,
    ],
  ])('%s', async (_name, lines, more, bytes) => {
    const pem = await certified(lines, 'ec.key', more)
    expect(derOf(pem).toString('hex')).toMatch(bytes)
    expect(await judged(pem)).toMatchObject({ ok: true, value: { pem } })
  })

  test('a curve that is written out, which begins with version 1', async () => {
    const curve = ['-pkeyopt', 'ec_paramgen_curve:P-256', '-pkeyopt', 'ec_param_enc:explicit']
    await openssl(['genpkey', '-algorithm', 'EC', ...curve, '-out', 'explicit.key'])
    const pem = await certified('basicConstraints = CA:TRUE', 'explicit.key')
    expect(await openssl(['x509', '-noout', '-text'], pem)).toContain('Field Type: prime-field')
    expect(await judged(pem)).toMatchObject({ ok: true, value: { pem } })
  })

  test('a version with a text behind it', async () => {
    const pem = await extended(element(SEQUENCE, Buffer.from('020101', 'hex'), text('a policy of ours')))
    expect(await judged(pem)).toMatchObject({ ok: true, value: { pem } })
  })

  test('other octets at every place where a key is refused', async () => {
    const noise = Buffer.alloc(300, 'xyz')
    for (const pem of [
      await extended(noise),
      await extended(element(SEQUENCE, bits(noise))),
      signedBy(noise),
    ]) {
      expect(await judged(pem)).toMatchObject({ ok: true })
    }
  })
})
