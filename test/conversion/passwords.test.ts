import { describe, expect, test } from 'vitest'
import { keepPassword } from '../../src/conversion/kept-password.ts'
import { formats } from '../../src/formats/index.ts'
import { accepts } from '../contract/verify.ts'

const deps = { randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)) }
const ALL = [...formats.keys()]

interface Row {
  readonly password: string | Uint8Array
  /** What SCRAM is computed from, where its standard prepares the password (RFC 5802, section 2.2). */
  readonly prepared?: string
  /** Formats that leave it, each with the cause; `all` for the rest. */
  readonly left?: Readonly<Record<string, string>>
  /** With the formats too that take a tenth of a second. */
  readonly slow?: true
}

const SLOW = ['bcrypt', 'sha512-crypt', 'caching_sha2_password']

const UNCONVERTIBLE = 'PasswordUnconvertible'
const BROKEN_LINE = { plaintext: UNCONVERTIBLE }
const LONG = { bcrypt: UNCONVERTIBLE }

/** What becomes of each in each format: converted, byte for byte, unless it says otherwise. */
const ROWS: Readonly<Record<string, Row>> = {
  'plain ASCII': { password: 'correct horse battery staple' },
  'one character': { password: 'a' },
  'MIG-01: a line break at its end': { password: 'secret\n', left: BROKEN_LINE, slow: true },
  'a carriage return and a line break at its end': { password: 'secret\r\n', left: BROKEN_LINE },
  'a tab': { password: 'a\tb', left: BROKEN_LINE },
  'spaces around it': { password: '  secret  ' },
  'nothing but spaces': { password: '   ' },
  'VER-16: what a URL or a shell would change': { password: 'p@ss/w%25rd$"x', slow: true },
  "quotes, backslashes, and SQL's comment": { password: `'"\\;--\\u0041{{ .Values }}` },
  'commas and braces, which Helm reads in values': { password: '{a,b}=c' },
  'letters that are no ASCII': { password: 'pässwörd', slow: true },
  'letters and accents apart, which SASLprep unites': { password: 'pa\u0308ss', prepared: 'päss' },
  'a soft hyphen, which SASLprep drops': { password: 'I\u00adX', prepared: 'IX' },
  'a no-break space, which SASLprep replaces': { password: 'a\u00a0b', prepared: 'a b' },
  'a Roman numeral, which SASLprep spells': { password: '\u2168', prepared: 'IX' },
  'a byte order mark, which SASLprep drops': { password: '\ufeffsecret', prepared: 'secret' },
  'an emoji, which SASLprep forbids: as it is, as PostgreSQL does': { password: 'pass🔑' },
  'both directions, which SASLprep forbids: as it is': { password: 'a\u0627b' },
  'a direction mark, which SASLprep forbids: as it is': { password: 'é\u200ex' },
  'a line separator': { password: 'a\u2028b', left: BROKEN_LINE },
  'base64, which is not decoded': { password: 'aHVudGVyMg==' },
  'hexadecimal digits': { password: '0xDEADBEEF' },
  'a number': { password: '12345678' },
  'a word that YAML reads as another type': { password: 'true' },
  '72 bytes, the most of bcrypt': { password: 'x'.repeat(72), slow: true },
  '73 bytes, of which bcrypt would drop one': { password: 'x'.repeat(73), left: LONG },
  '72 characters of two bytes': { password: 'ü'.repeat(72), left: LONG },
  '1 KiB': { password: 'k'.repeat(1024), left: LONG, slow: true },
  'more than 1 KiB': { password: 'k'.repeat(1025), left: { ...LONG, plaintext: UNCONVERTIBLE } },
  'an md5 hash as PostgreSQL stores it': {
    password: `md5${'0123456789abcdef'.repeat(2)}`,
    left: { 'scram-sha-256': 'PasswordLooksStored' },
  },
  'md5 and upper case, which PostgreSQL hashes': { password: `md5${'0123456789ABCDEF'.repeat(2)}` },
  'a SCRAM verifier': {
    // RFC 7677, section 3: of the password `pencil`.
    password:
      'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
    left: { 'scram-sha-256': 'PasswordLooksStored', ...LONG },
  },
  'a hash as MariaDB stores it': { password: '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19' },
  'a SHA-256 in hexadecimal digits': {
    password: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  },
  'a crypt(3) hash': { password: '$apr1$abcdefgh$0123456789abcdefghijk.' },
  'a NUL, which ends a text in C': { password: 'before\0after', left: { all: UNCONVERTIBLE } },
  'bytes that are no UTF-8': {
    password: Uint8Array.of(0x70, 0xe4, 0x73, 0x73),
    left: { all: 'PasswordUnreadable' },
  },
  'half of a surrogate pair in bytes': {
    password: Uint8Array.of(0xed, 0xa0, 0x80),
    left: { all: 'PasswordUnreadable' },
  },
  'MIG-07: nothing': { password: '', left: { all: 'PasswordMissing' } },
}

describe.each(Object.entries(ROWS))('%s', (_what, { password, prepared, left = {}, slow }) => {
  const bytes = typeof password === 'string' ? Buffer.from(password) : Buffer.from(password)
  const names = ALL.filter((name) => slow || left[name] !== undefined || !SLOW.includes(name))
  const causeIn = (name: string) => left[name] ?? left.all

  test.each(names.filter((name) => causeIn(name) === undefined))('is converted for %s', async (name) => {
    const kept = await keep(name, bytes)
    expect(kept.is).toBe('stored')
    const text = bytes.toString()
    const stored = 'stored' in kept ? kept.stored : ''
    if (name === 'plaintext') expect(stored).toBe(text)
    else expect(accepts(stored, name === 'scram-sha-256' ? (prepared ?? text) : text)).toBe(true)
    expect('endsInNewline' in kept && kept.endsInNewline).toBe(/[\r\n]$/.test(text))
  })

  test.each(names.filter((name) => causeIn(name) !== undefined))('is left for %s', async (name) => {
    const kept = await keep(name, bytes)
    expect(kept).toMatchObject({ is: 'left', cause: causeIn(name) })
    // Why it was left is said without it.
    if (bytes.length > 3) expect(JSON.stringify(kept)).not.toContain(bytes.toString())
  })
})

function keep(name: string, bytes: Buffer) {
  const format = formats.get(name)
  if (format === undefined) throw new TypeError(name)
  return keepPassword({ format, valuesPath: undefined }, 'web', bytes.toString('base64'), deps)
}

test('what is no base64 is no text either', async () => {
  const format = formats.get('sha256')
  expect(format && (await keepPassword({ format, valuesPath: undefined }, 'web', '*', deps))).toMatchObject({
    cause: 'PasswordUnreadable',
  })
})
