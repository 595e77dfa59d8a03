import { X509Certificate } from 'node:crypto'
import { rootCertificates } from 'node:tls'
import { afterAll, describe, expect, test } from 'vitest'
import { type Published, publishable } from '../../src/trust-anchor/certificates.ts'
import { makeCertificates } from './made.ts'
import { certificateOf, derOf } from './values.ts'

const made = await makeCertificates()
afterAll(made.remove)
const { openssl } = made
const [rsa, ec] = [certificateOf(made, 'rsa'), certificateOf(made, 'ec')]
const key = made.keys.get('PKCS #8, EC') ?? ''

const judged = (value: string | Uint8Array): Promise<Published> =>
  publishable(typeof value === 'string' ? Buffer.from(value) : value)
const publishing = (pem: string) => ({ ok: true, value: { pem } })
const refusing = (why: RegExp) => ({ ok: false, failure: { is: 'invalid', why: expect.stringMatching(why) } })
const PRIVATE_KEY = { ok: false, failure: { is: 'private-key' } }

async function pemOf(value: string): Promise<string> {
  const published = await judged(value)
  return published.ok ? published.value.pem : `refused: ${JSON.stringify(published.failure)}`
}

/** What OpenSSL finds in a file: a line for each certificate, key or whatever else, and their number. */
async function found(pem: string): Promise<string> {
  await made.write('found.pem', pem)
  return openssl(['storeutl', '-noout', 'found.pem'])
}

describe('field cases', () => {
  test('CAP-01: an empty value and one of white space are blank, which is not the same as wrong', async () => {
    for (const value of ['', '\n', ' \t\r\n']) {
      expect(await judged(value)).toEqual({ ok: false, failure: { is: 'blank' } })
    }
  })

  test('CAP-02: a certificate with a private key behind it is refused as a whole, without a word of it', async () => {
    expect(await judged(rsa + key)).toEqual(PRIVATE_KEY)
    expect(await judged(rsa + ec + key)).toEqual(PRIVATE_KEY)
  })

  test('CAP-06: of CRLF, of CR and of a last line without an end the same certificates come, in LF', async () => {
    for (const end of ['\r\n', '\r', '\n']) {
      const pem = await pemOf((rsa + ec).replaceAll('\n', end).trimEnd())
      expect(pem).toBe(rsa + ec)
      expect(pem).toMatch(/[^\n]\n$/)
    }
    const der = (pem: string) => openssl(['x509', '-outform', 'der'], pem)
    expect(await der(await pemOf(rsa.replaceAll('\n', '\r')))).toBe(await der(rsa))
  })

  test('CAP-08: what tools write around certificates is dropped, and every certificate kept', async () => {
    const text = await openssl(['x509', '-text', '-nameopt', 'RFC2253'], rsa)
    expect(text).toContain('Signature Algorithm')
    await made.write('rsa.pem', rsa)
    await made.write('ec.pem', ec)
    const bag = ['pkcs12', '-export', '-nokeys', '-in', 'rsa.pem', '-certfile', 'ec.pem', '-caname', 'old']
    await openssl([...bag, '-passout', 'pass:', '-out', 'bag.p12'])
    const attributes = await openssl(['pkcs12', '-in', 'bag.p12', '-nokeys', '-passin', 'pass:'])
    expect(attributes).toContain('Bag Attributes')
    const comment = '# CA with ----BEGIN CERTIFICATE----?\n#-----BEGIN CERTIFICATE-----\n'
    const both = await pemOf(comment + text + attributes)
    expect(both.match(/BEGIN/g)).toHaveLength(3)
    expect(await pemOf(text + comment + ec)).toBe(rsa + ec)
    expect(await found(both)).toMatch(/Certificate\n1: Certificate\n2: Certificate\nTotal found: 3\n$/)
  })

  test("CAP-09: OpenSSL's trusted certificates are refused, with the command that makes plain ones", async () => {
    const trusted = await openssl(['x509', '-trustout', '-addtrust', 'serverAuth'], rsa)
    expect(trusted).toContain('BEGIN TRUSTED CERTIFICATE')
    expect(await judged(trusted)).toEqual(
      refusing(/OpenSSL's own form: write it with `openssl x509 -in FILE`/),
    )
    expect(await judged(ec + trusted)).toEqual(refusing(/block 2/))
    await made.write('FILE', trusted)
    expect(await pemOf(await openssl(['x509', '-in', 'FILE']))).toBe(rsa)
    // Under the plain label it has bytes behind the certificate.
    expect(await judged(trusted.replaceAll('TRUSTED ', ''))).toEqual(
      refusing(/no certificate, or more than one/),
    )
  })

  test('CAP-10: EC PARAMETERS refuse the value, and with a key behind them it is a private key', async () => {
    const parameters = await openssl(['ecparam', '-name', 'prime256v1'])
    expect(parameters).toContain('BEGIN EC PARAMETERS')
    expect(await judged(parameters + ec)).toEqual(refusing(/block 1 is EC PARAMETERS/))
    const both = await openssl(['ecparam', '-name', 'prime256v1', '-genkey'])
    expect(both).toMatch(/BEGIN EC PARAMETERS.*BEGIN EC PRIVATE KEY/s)
    expect(await judged(both + ec)).toEqual(PRIVATE_KEY)
  })

  test('CAP-11: base64 of PEM, DER, and base64 of DER are refused, with what to do about it', async () => {
    expect(await judged(Buffer.from(rsa).toString('base64'))).toEqual(refusing(/encoded once too often/))
    expect(await judged(derOf(rsa).toString('base64'))).toEqual(
      refusing(/without -----BEGIN CERTIFICATE-----/),
    )
    expect(await judged(derOf(rsa))).toEqual(refusing(/openssl x509 -inform der -in FILE/))
  })

  test('CAP-17: 140 certificates with comments are published complete, 2 MB are refused with the limit', async () => {
    const commented = `# ${'An authority that signs for everybody. '.repeat(20)}\n${rsa}`
    const bundle = commented.repeat(140)
    expect(bundle.length).toBeGreaterThan(200_000)
    const pem = await pemOf(bundle)
    expect(pem).toBe(rsa.repeat(140))
    expect(await found(pem)).toContain('Total found: 140\n')
    expect(await judged(bundle.repeat(8))).toEqual(refusing(/longer than the 1 MiB that a Secret holds/))
  })
})

test('every authority that Node trusts is published, and all of them together', async () => {
  const roots = rootCertificates.map((pem) => new X509Certificate(pem).toString())
  expect(roots.length).toBeGreaterThan(100)
  expect(await pemOf(roots.join(''))).toBe(roots.join(''))
})

describe('other files of certificates are refused with a command that makes PEM of them', () => {
  /** Writes the file as FILE; answers what is said about it, and what the command in it makes of it. */
  async function advised(write: readonly string[]): Promise<{ readonly why: string; readonly pem: string }> {
    await made.write('rsa.pem', rsa)
    await openssl([...write, '-out', 'FILE'])
    const published = await judged(await made.read('FILE'))
    const why = !published.ok && published.failure.is === 'invalid' ? published.failure.why : ''
    const [, command = ''] = /`openssl (.*)`/.exec(why) ?? []
    const passing = command.startsWith('pkcs12') ? ['-passin', 'pass:secret'] : []
    return { why, pem: await pemOf(await openssl([...command.split(' '), ...passing])) }
  }
  const pkcs12 = ['pkcs12', '-export', '-in', 'rsa.pem', '-inkey', 'rsa.key', '-passout', 'pass:secret']
  const pkcs7 = ['crl2pkcs7', '-nocrl', '-certfile', 'rsa.pem']
  const plain = ['x509', '-in', 'rsa.pem']

  test.each<readonly [string, readonly string[], RegExp]>([
    ['PKCS #12, with its key', pkcs12, /it is PKCS #12/],
    ['PKCS #12 of certificates', [...pkcs12.slice(0, 4), '-nokeys', ...pkcs12.slice(6)], /it is PKCS #12/],
    ['PKCS #7 in PEM', pkcs7, /block 1 is PKCS #7/],
    ['PKCS #7', [...pkcs7, '-outform', 'der'], /it is PKCS #7/],
    ['DER', [...plain, '-outform', 'der'], /it is binary \(DER\)/],
    ["OpenSSL's own form", [...plain, '-trustout', '-addtrust', 'serverAuth'], /OpenSSL's own form/],
  ])('%s', async (_name, write, expected) => {
    const { why, pem } = await advised(write)
    expect(why).toMatch(expected)
    expect(pem).toBe(rsa)
  })

  test.each<readonly [string, readonly string[], RegExp]>([
    [
      'a request',
      ['req', '-new', '-config', 'openssl.cnf', '-key', 'ec.key', '-subj', '/CN=x'],
      /is a request and no certificate/,
    ],
    ['a public key', ['pkey', '-in', 'ec.key', '-pubout'], /is a public key and no certificate/],
    ['a public key of PKCS #1', ['rsa', '-in', 'rsa.key', '-RSAPublicKey_out'], /is a public key/],
    [
      'a revocation list',
      ['ca', '-gencrl', '-config', 'openssl.cnf', '-cert', 'rsa.crt', '-keyfile', 'rsa.key', '-crldays', '9'],
      /is a revocation list/,
    ],
  ])('but not %s, which has none', async (_name, write, expected) => {
    await openssl([...write, '-out', 'FILE'])
    expect(await judged(await made.read('FILE'))).toEqual(refusing(expected))
    expect(await judged(rsa + (await made.read('FILE')))).toEqual(refusing(/^block 2 /))
  })

  test('nor a keystore of Java', async () => {
    // Magic, version 2, one entry: the format has no other writer than keytool.
    const keystore = Buffer.from('feedfeed0000000200000001', 'hex')
    expect(await judged(keystore)).toEqual(refusing(/keytool -exportcert -rfc/))
  })
})

describe('a value', () => {
  const fill = (bytes: number): string => `${'x'.repeat(bytes - rsa.length - 1)}\n${rsa}`

  test('of as much as a Secret holds is published, of a byte more not', async () => {
    expect(await pemOf(fill(2 ** 20))).toBe(rsa)
    expect(await judged(fill(2 ** 20 + 1))).toEqual(refusing(/1 MiB/))
  })

  test('that would be longer than a Secret holds in lines of 64 is not published', async () => {
    const line = rsa.replace(/([^-])\n(?!-)/g, '$1')
    const times = Math.floor(2 ** 20 / line.length)
    expect(rsa.length * times).toBeGreaterThan(2 ** 20)
    expect(await judged(line.repeat(times))).toEqual(refusing(/1 MiB/))
    expect(await judged(line.repeat(times - 20))).toMatchObject(publishing(rsa.repeat(times - 20)))
  })

  test('with a key behind 500 good certificates is refused', async () => {
    const many = rsa.repeat(500)
    expect(await judged(many)).toMatchObject(publishing(many))
    expect(await judged(many + key)).toEqual(PRIVATE_KEY)
  })

  test('that is refused says which certificate is wrong', async () => {
    const wrong = ec.replace('\nM', '\n!M')
    expect(await judged(rsa.repeat(41) + wrong)).toEqual(refusing(/^block 42 /))
  })

  test('with the text of a private key inside a certificate is refused', async () => {
    const comment = `nsComment=${key.trimEnd().replaceAll('\n', ' ')}`
    const config = ['-config', 'openssl.cnf', '-key', 'ec.key', '-subj', '/CN=x', '-addext', comment]
    const pem = await openssl(['req', '-x509', ...config])
    expect(await openssl(['x509', '-noout', '-text'], pem)).toContain('BEGIN PRIVATE KEY')
    expect(await judged(pem)).toEqual(PRIVATE_KEY)
  })
})

test('a certificate with PEM of another in it is refused: OpenSSL reads that one in its place', async () => {
  const inner = Buffer.from(`\n${ec}`).toString('hex')
  const sections = '[req]\ndistinguished_name = n\nprompt = no\nx509_extensions = x\n[n]\nCN = outer\n[x]\n'
  await made.write('outer.cnf', `${sections}1.2.3.4 = DER:${inner}\n`)
  const outer = await openssl(['req', '-x509', '-config', 'outer.cnf', '-key', 'ec.key', '-days', '1'])
  expect(new X509Certificate(derOf(outer)).subject).toBe('CN=ec')
  expect(await judged(outer)).toEqual(refusing(/no certificate, or more than one/))
})

describe('the facts', () => {
  test('come in the order of the certificates, whether they are valid now and authorities or not', async () => {
    const names = ['expired', 'not yet valid', 'leaf', 'version 1', 'intermediate']
    const published = await judged(names.map((name) => certificateOf(made, name)).join('\n'))
    expect(published).toMatchObject({
      value: {
        certificates: [
          { notAfterMs: Date.UTC(2021, 0, 1), isAuthority: true },
          { notBeforeMs: Date.UTC(2090, 0, 1), isAuthority: true },
          { isAuthority: false },
          { isAuthority: true },
          { isAuthority: true },
        ],
      },
    })
  })
})
