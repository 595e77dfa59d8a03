import { afterAll, describe, expect, test } from 'vitest'
import { factsOf } from '../../src/trust-anchor/certificate-fields.ts'
import { childrenOf, oneElement } from '../../src/trust-anchor/der.ts'
import { certificateReader } from '../../src/trust-anchor/x509.ts'
import { element } from './element.ts'
import { makeCertificates } from './made.ts'
import { certificateOf, derOf } from './values.ts'

const made = await makeCertificates()
afterAll(made.remove)
const read = await certificateReader()

describe('of a certificate', () => {
  test.each([...made.certificates])('%s, the facts are those that OpenSSL tells', async (_name, pem) => {
    const args = ['x509', '-noout', '-dates', '-dateopt', 'iso_8601', '-purpose']
    const told = await made.openssl(args, pem)
    const timeOf = (name: string) => Date.parse(new RegExp(`${name}=(.*)`).exec(told)?.[1] ?? '')
    expect(read(derOf(pem))).toEqual({
      notBeforeMs: timeOf('notBefore'),
      notAfterMs: timeOf('notAfter'),
      isAuthority: /^CRL signing CA : Yes/m.test(told),
    })
  })
})

test('the tests have authorities and others', () => {
  const are = Array.from(made.certificates.values(), (pem) => read(derOf(pem))?.isAuthority)
  expect(new Set(are)).toEqual(new Set([true, false]))
})

const rsa = derOf(certificateOf(made, 'rsa'))
/** The same bytes but for those from `at` on. */
const changed = (at: number, ...bytes: readonly number[]): Buffer => {
  const copy = Buffer.from(rsa)
  copy.set(bytes, at)
  return copy
}
/** `toBeSigned`, algorithm and signature of the certificate, which is longer than 255 bytes as they are. */
const toBeSigned = rsa.subarray(4, 8 + rsa.readUInt16BE(6))
const algorithm = rsa.subarray(4 + toBeSigned.length, 4 + toBeSigned.length + 15)
const signature = rsa.subarray(4 + toBeSigned.length + 15)
/** Where the bytes that these hexadecimal digits are begin, plus so many; of the first, or of the one so many after it. */
const behind = (hex: string, offset: number, after = 0): number => {
  const bytes = Buffer.from(hex, 'hex')
  let at = rsa.indexOf(bytes)
  for (let times = after; times > 0; times -= 1) at = rsa.indexOf(bytes, at + 1)
  if (at < 0) throw new Error(`no ${hex}`)
  return at + offset
}
const COMMON_NAME = '310c300a0603550403'
const dated = (from: string, to: string): Buffer =>
  Buffer.from(rsa.toString('latin1').replace(from, to), 'latin1')
const VALIDITY = rsa.subarray(behind('301e170d', 0), behind('301e170d', 32))
const LISTED = rsa.subarray(behind('a3423040', 0), behind('a3423040', 68))
/** With another piece in what is signed. */
const replaced = (piece: Buffer, other: Buffer): Buffer => {
  const [before, after] = [
    toBeSigned.subarray(4, toBeSigned.indexOf(piece)),
    toBeSigned.indexOf(piece) + piece.length,
  ]
  return element(0x30, element(0x30, before, other, toBeSigned.subarray(after)), algorithm, signature)
}
const BITS = Buffer.from([0, 1])
/** Without version and extensions, which are the first and the last of what is signed. */
const firstVersion = (...more: readonly Buffer[]): Buffer =>
  element(0x30, element(0x30, toBeSigned.subarray(9, -LISTED.length), ...more), algorithm, signature)
const signedBy = (bytes: Uint8Array): Buffer =>
  element(0x30, toBeSigned, algorithm, element(3, Buffer.from([0]), bytes))
const END_OF_CONTENTS = Buffer.from([0, 0])

test('who says in so many words to be no authority is none', () => {
  // DER leaves out what is the default (X.690, section 11.5), and not everybody who writes certificates does.
  expect(read(changed(behind('30030101ff', 4), 0))).toMatchObject({ isAuthority: false })
})

test('no more elements are looked at than a certificate has', () => {
  const nulls = (count: number) => oneElement(element(0x30, Buffer.alloc(2 * count).fill('0500', 'hex')))
  const [some, many] = [nulls(1000), nulls(1001)]
  if (some === undefined || many === undefined) throw new Error('they are DER')
  expect(childrenOf(some)).toHaveLength(1000)
  expect(childrenOf(many)).toBeUndefined()
})

describe('what is not exactly one certificate in DER', () => {
  test('put together from its parts it is one', () => {
    expect(element(0x30, toBeSigned, algorithm, signature)).toEqual(rsa)
    expect(read(rsa)).toBeDefined()
  })

  test.each<readonly [string, Uint8Array]>([
    ['nothing', new Uint8Array()],
    ['one byte', Buffer.from([0x30])],
    ['a byte behind', Buffer.concat([rsa, END_OF_CONTENTS.subarray(1)])],
    ['a byte less', rsa.subarray(0, -1)],
    ['another behind', Buffer.concat([rsa, rsa])],
    ['one inside another', element(0x30, rsa)],
    ['a SET', changed(0, 0x31)],
    [
      'a length without end (BER)',
      Buffer.concat([Buffer.from([0x30, 0x80]), rsa.subarray(4), END_OF_CONTENTS]),
    ],
    [
      'a length in more octets than it takes (BER)',
      Buffer.concat([Buffer.from([0x30, 0x83, 0]), rsa.subarray(2)]),
    ],
    ['a length in five octets', Buffer.concat([Buffer.from([0x30, 0x85, 0, 0, 0]), rsa.subarray(2)])],
    ['a length over the end', changed(2, 0x7f)],
    ['a part more', element(0x30, toBeSigned, algorithm, signature, Buffer.from([5, 0]))],
    ['no signature', element(0x30, toBeSigned, algorithm)],
    ['a signature longer than any', signedBy(Buffer.alloc(49_857))],
    ['a signature that is no BIT STRING', element(0x30, toBeSigned, algorithm, Buffer.from([4, 1, 0]))],
    [
      'another algorithm outside than inside',
      element(0x30, toBeSigned, element(0x30, Buffer.from([6, 3, 0x2b, 0x65, 0x70])), signature),
    ],
    [
      'a part more in what is signed',
      element(0x30, element(0x30, toBeSigned.subarray(4), Buffer.from([5, 0])), algorithm, signature),
    ],
    [
      'bytes left over in what is signed',
      element(0x30, element(0x30, toBeSigned.subarray(4), Buffer.from([0x30])), algorithm, signature),
    ],
    ['a month 13', dated('200101000000Z', '201301000000Z')],
    ['a 31st of November', dated('200101000000Z', '201131000000Z')],
    ['a 29th of February in a year without', dated('490101000000Z', '490229000000Z')],
    ['an hour 24', dated('200101000000Z', '200101240000Z')],
    ['a time that is none', dated('200101000000Z', '2001010000+0Z')],
    ['a first version that says so', changed(behind('a003020102', 4), 0)],
    ['extensions in the second version', changed(behind('a003020102', 4), 1)],
    ['a serial number that is no INTEGER', changed(behind('a003020102', 5), 4)],
    ...['issuer', 'subject'].flatMap((whose, at): readonly (readonly [string, Uint8Array])[] => [
      [`an ${whose} with a SEQUENCE for a SET`, changed(behind(COMMON_NAME, 0, at), 0x30)],
      [`an ${whose} with what only looks like a SET`, changed(behind(COMMON_NAME, 0, at), 0x11)],
      [`an ${whose} in a VisibleString`, changed(behind(COMMON_NAME, 9, at), 0x1a)],
      [`an ${whose} in what is no text`, changed(behind(COMMON_NAME, 9, at), 8)],
      [`an attribute of an ${whose} without a type`, changed(behind(COMMON_NAME, 4, at), 0x0c)],
      [`an empty attribute of an ${whose}`, changed(behind(COMMON_NAME, 0, at), 0x31, 0, 0x31, 10, 0x31, 8)],
    ]),
    ['three times', replaced(VALIDITY, element(0x30, VALIDITY.subarray(2), VALIDITY.subarray(2, 17)))],
    ['one time', replaced(VALIDITY, element(0x30, VALIDITY.subarray(2, 17)))],
    ['no extensions where they are said to be', replaced(LISTED, element(0xa3))],
    ['an empty list of extensions', replaced(LISTED, element(0xa3, element(0x30)))],
    [
      'a unique identifier with bits left over',
      replaced(LISTED, Buffer.concat([element(0x81, Buffer.from([3, 1])), LISTED])),
    ],
    ['extensions twice', replaced(LISTED, Buffer.concat([LISTED, LISTED]))],
    ['unique identifiers in the first version', firstVersion(element(0x81, BITS))],
    ['two lists of extensions', replaced(LISTED, element(0xa3, LISTED.subarray(2), LISTED.subarray(2)))],
    ['an identifier behind the extensions', replaced(LISTED, Buffer.concat([LISTED, element(0x81)]))],
    ['identifiers in another order', replaced(LISTED, Buffer.concat([element(0x82), element(0x81), LISTED]))],
    ['a key that is no BIT STRING', changed(behind('0382010f00', 0), 4)],
    ['a key that does not end with an octet', changed(behind('0382010f00', 4), 1)],
    ['a key with parameters of another kind', changed(behind('2a864886f70d0101010500', 9), 0x0c)],
    ['an extension in a string of strings', changed(behind('0101ff04', 3), 0x24)],
    ['an extension without an OCTET STRING', changed(behind('0101ff04', 3), 3)],
    ['unique identifiers in place of the extensions', changed(behind('a3423040', 0), 0xa1)],
    ['a fourth version', changed(behind('a003020102', 4), 3)],
    ['nothing but elements in elements', Buffer.alloc(4000).fill(Buffer.from([0x30, 0x80]))],
  ])('%s is none, and our own walk sees it', (_name, der) => {
    expect(factsOf(der)).toBeUndefined()
    expect(read(der)).toBeUndefined()
  })

  test.each<readonly [string, Uint8Array]>([
    ['a serial number with an octet too many', changed(behind('a003020102', 7), 0, 1)],
    ['a name that is no UTF-8', changed(behind(COMMON_NAME, 11), 0xff)],
  ])('%s is none, and OpenSSL sees it', (_name, der) => {
    expect(factsOf(der)).toBeDefined()
    expect(read(der)).toBeUndefined()
  })

  test.each<readonly [string, Uint8Array]>([
    ['of the first version', firstVersion()],
    // SLH-DSA-SHA2-256f: FIPS 205, table 2.
    ['with the longest signature', signedBy(Buffer.alloc(49_856))],
    ['without extensions', replaced(LISTED, Buffer.alloc(0))],
    [
      'with unique identifiers',
      replaced(LISTED, Buffer.concat([element(0x81, BITS), element(0x82, BITS), LISTED])),
    ],
  ])('but one %s is one', (_name, der) => {
    expect(read(der)).toBeDefined()
  })

  test('OpenSSL itself passes over what follows, and takes BER', async () => {
    // Otherwise those above would be refused without any doing of ours.
    const { X509Certificate } = await import('node:crypto')
    expect(new X509Certificate(Buffer.concat([rsa, rsa])).subject).toBe('CN=rsa')
    const ber = Buffer.concat([Buffer.from([0x30, 0x80]), rsa.subarray(4), END_OF_CONTENTS])
    expect(new X509Certificate(ber).subject).toBe('CN=rsa')
  })
})
