import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Anything, decode } from '../contract/kube.ts'
import { fileDefinitions, type HookPlace, hookPlace, kindsOf } from '../conversion/hook-place.ts'
import { startClickhouse } from './clickhouse.ts'
import type { Engine } from './engine.ts'
import { startMariadb } from './mariadb.ts'
import { startPostgres } from './postgres.ts'
import { sha256 } from './verifiers.ts'

/** Passwords that somebody might trim, decode, cut or normalise, by username. */
const AWKWARD: Readonly<Record<string, string>> = {
  ordinary: 'hfGd7Yb2QpLs0XvN',
  newline: 'secret\n',
  carriage: 'secret\r\n',
  spaces: '  two  words ',
  tab: 'tab\tinside',
  quotes: `it's "quoted" \`\\' ; -- $(id) \\\\`,
  encoded: 'p@ss/w%25rd$"x',
  base64like: 'c2VjcmV0LWJ1dC1ub3Q=',
  padded: 'YWJj====',
  hexlike: '5f4dcc3b5aa765d61d8327deb882cf99',
  starlike: '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19',
  yamllike: '0x1F',
  brackets: '<a&b>{{ .Values }}',
  kibibyte: 'k1B-'.repeat(256),
  umlaut: 'Größe-Ⅷ-naïve',
  astral: '🔑 пароль 密碼',
  // RFC 4013: mapped to nothing, mapped to a space, and what NFKC composes or takes apart.
  softHyphen: 'I\u00adX',
  noBreakSpace: 'two\u00a0words',
  romanNine: '\u2168',
  ligature: 'o\ufb03ce',
  decomposed: 'e\u0301tat',
  // Prohibited there, so that PostgreSQL takes the bytes as they are: a code point that Unicode 3.2 does not assign, and
  // letters of both directions.
  unassigned: 'x\u0221y',
  bothDirections: 'a\u0627b',
}

/** The same password in another form, as SASLprep has it; of RFC 4013, section 3, the second and the fourth. */
const PREPARED: Readonly<Record<string, string>> = {
  softHyphen: 'IX',
  noBreakSpace: 'two words',
  romanNine: 'IX',
  ligature: 'office',
  decomposed: '\u00e9tat',
}

/** Not a line break alone: what ends in one is what somebody may have typed without it. */
const near = (password: string): readonly string[] => [
  `${password}x`,
  password.slice(0, -1),
  ...(password.trim() === password ? [] : [password.trim()]),
]

/** ClickHouse's own client sends none of these: there it is OpenSSL that says what the value must be. */
const hasControls = (password: string): boolean => Array.from(password).some((character) => character < ' ')

const ENGINES = [
  ['Postgres', startPostgres],
  ['MariaDB', startMariadb],
  ['ClickHouse', startClickhouse],
] as const

describe.each(ENGINES)('what the hook has written for the passwords from before of a %s', (kind, start) => {
  let engine: Engine
  let place: HookPlace
  let release: Anything

  const convert = async (name: string, passwords: Parameters<HookPlace['order']>[1]) => {
    release = await place.order(name, passwords, { kind })
    const [converted] = (await place.convert({ kinds: kindsOf(fileDefinitions(kind)) })).filter(
      (each) => each.release === release.metadata.name,
    )
    if (converted === undefined) throw new Error(`${name} was not looked at`)
    return converted
  }
  const storedFor = async (username: string): Promise<string> =>
    decode((await place.secret(`${release.metadata.name}.${username.toLowerCase()}.account`)).data.password)

  const canSend = (password: string) => kind !== 'ClickHouse' || !hasControls(password)
  /** Who cannot log in, or can with another text than the password and what its standard takes for the same. */
  const wrongLogins = async (username: string, password: string): Promise<readonly string[]> => {
    const same = kind === 'Postgres' ? PREPARED[username] : undefined
    const wrong: string[] = []
    for (const text of [password, ...near(password)].filter(canSend)) {
      const isIn = await engine.login(username, text)
      if (isIn !== (text === password || text === same))
        wrong.push(`${username}, ${JSON.stringify(text)}: ${isIn}`)
    }
    return wrong
  }

  beforeAll(async () => {
    engine = await start()
    place = hookPlace()
  })
  afterAll(() => engine?.stop())

  test('VER-16: every old password still logs in, byte for byte, and nothing near it does', async () => {
    const { skips, accounts, notes } = await convert('awkward', AWKWARD)
    expect(skips).toEqual([])
    expect(accounts.map(({ username, result }) => [username, result]).toSorted()).toEqual(
      Object.keys(AWKWARD)
        .map((username) => [username, 'converted'])
        .toSorted(),
    )
    expect(notes.map((note) => ('username' in note ? note.username : note.is)).toSorted()).toEqual([
      'carriage',
      'newline',
    ])
    const wrong: string[] = []
    for (const [username, password] of Object.entries(AWKWARD)) {
      const stored = await storedFor(username)
      await engine.apply(username, stored)
      if (kind === 'ClickHouse' && hasControls(password)) expect(stored).toBe(sha256(password))
      wrong.push(...(await wrongLogins(username, password)))
    }
    expect(wrong).toEqual([])
  })

  test('what no password of a text can be is left out, and its siblings are not', async () => {
    const base64 = (bytes: readonly number[]) => ({ base64: Buffer.from(bytes).toString('base64') })
    const { skips, accounts } = await convert('impossible', {
      plain: 'secret',
      nul: base64([115, 0, 116]),
      latin1: base64([0x47, 0x72, 0xf6, 0xdf, 0x65]),
      empty: '',
    })
    expect(accounts).toMatchObject([{ username: 'plain', result: 'converted' }])
    expect(skips.map(({ cause, message }) => [cause, message.split(':')[0]]).toSorted()).toEqual([
      ['PasswordMissing', 'user "empty"'],
      ['PasswordUnconvertible', 'user "nul"'],
      ['PasswordUnreadable', 'user "latin1"'],
    ])
  })

  test('what looks like a stored value', async () => {
    const verifiers: Readonly<Record<string, string>> = {
      md5: `md5${'0123456789abcdef'.repeat(2)}`,
      scram:
        'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
      notQuite: 'md5-is-not-enough',
    }
    const { skips, accounts } = await convert('lookalike', verifiers)
    const taken = kind === 'Postgres' ? ['md5', 'scram'] : []
    expect(skips.map(({ cause, message }) => [cause, message.split(':')[0]]).toSorted()).toEqual(
      taken.map((username) => ['PasswordLooksStored', `user "${username}"`]),
    )
    for (const { username } of accounts) {
      await engine.apply(username, await storedFor(username))
      expect(await engine.login(username, verifiers[username] ?? ''), username).toBe(true)
    }
    // As its chart gave it to the engine: it was no password then either.
    for (const username of taken) {
      await engine.apply(username, verifiers[username] ?? '')
      expect(await engine.login(username, verifiers[username] ?? ''), username).toBe(false)
    }
  })
})

describe('a password that PostgreSQL itself has prepared', () => {
  let engine: Engine
  let place: HookPlace
  beforeAll(async () => {
    engine = await startPostgres()
    place = hookPlace()
  })
  afterAll(() => engine?.stop())

  test('logs in with the same texts before and after: as it was set, and as SASLprep makes it', async () => {
    const release = await place.order('prepared', AWKWARD)
    await place.convert({ kinds: kindsOf(fileDefinitions('Postgres')) })
    const loginsOf = async (username: string, password: string) =>
      Promise.all(
        [password, PREPARED[username] ?? `${password}x`].map((each) => engine.login(username, each)),
      )
    for (const [username, password] of Object.entries(AWKWARD)) {
      // The server hashes what is none of its verifiers, as it did for the chart.
      await engine.apply(username, password)
      const before = await loginsOf(username, password)
      expect(before, username).toEqual([true, username in PREPARED])
      const { data } = await place.secret(`${release.metadata.name}.${username.toLowerCase()}.account`)
      await engine.apply(username, decode(data.password))
      expect(await loginsOf(username, password), username).toEqual(before)
    }
  })
})
