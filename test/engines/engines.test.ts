import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chain, EXPECTED_LOGINS, type Minting } from './chain.ts'
import { startClickhouse } from './clickhouse.ts'
import type { Engine } from './engine.ts'
import { startMariadb } from './mariadb.ts'
import { startNats } from './nats.ts'
import { startNginx } from './nginx.ts'
import { startPostgres } from './postgres.ts'
import { startRabbitmq } from './rabbitmq.ts'
import { startRedis, startRedisAcl } from './redis.ts'
import {
  apr1,
  bcrypt,
  mysqlNative,
  rabbitmqSha256,
  redisAcl,
  scramSha256,
  sha256,
  sha512Crypt,
} from './verifiers.ts'

interface Case {
  readonly name: string
  readonly start: () => Promise<Engine>
  readonly username: string
  readonly verifierOf: (password: string) => string
  /** From outside: a password and the value that the engine stores for it. */
  readonly published: { readonly password: string; readonly stored: string }
}

/** By crypt(3) and bcrypt of other hands. */
const BCRYPT = {
  password: 'Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU',
  stored: '$2b$10$abcdefghijklmnopqrstuuyi8QRbU9WJ2NPMcxp4waB2Swz15EuRm',
}

const CASES: readonly Case[] = [
  {
    name: 'PostgreSQL',
    start: startPostgres,
    username: 'web',
    verifierOf: (password) => scramSha256(password),
    // RFC 7677, section 3.
    published: {
      password: 'pencil',
      stored:
        'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
    },
  },
  {
    name: 'MariaDB',
    start: startMariadb,
    username: 'app',
    verifierOf: mysqlNative,
    // MariaDB/server#1628.
    published: { password: 'password', stored: '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19' },
  },
  {
    name: 'ClickHouse',
    start: startClickhouse,
    username: 'etl',
    verifierOf: sha256,
    // FIPS 180-4 (SHA-256), by `sha256sum`.
    published: {
      password: 'qwerty',
      stored: '65e84be33532fb784c48129675f9eff3a682b27168c0ea744b2cf58ee02337c5',
    },
  },
  {
    name: 'Redis',
    start: startRedis,
    username: 'default',
    verifierOf: (password) => password,
    published: { password: 'pencil', stored: 'pencil' },
  },
  {
    name: 'Redis with a hash in its ACL',
    start: startRedisAcl,
    username: 'default',
    verifierOf: redisAcl,
    // redis/redis, tests/unit/acl.tcl.
    published: {
      password: 'passwd4',
      stored: '#34344e4d60c2b6d639b7bd22e18f2b0b91bc34bf0ac5f9952744435093cfb4e6',
    },
  },
  {
    name: 'RabbitMQ',
    start: startRabbitmq,
    username: 'web',
    verifierOf: (password) => rabbitmqSha256(password),
    // rabbitmq.com, "Credentials and Passwords".
    published: { password: 'test12', stored: 'kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR' },
  },
  {
    name: 'nginx with apr1',
    start: startNginx,
    username: 'web',
    verifierOf: apr1,
    // openwall/john#2315 has the salt; `openssl passwd -apr1`.
    published: {
      password: 'Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU',
      stored: '$apr1$OS5yjsCr$a5VQKN/qw4kSwUBeqjAns1',
    },
  },
  {
    name: 'nginx with sha512-crypt',
    start: startNginx,
    username: 'web',
    verifierOf: sha512Crypt,
    // SHA-crypt.txt by Ulrich Drepper.
    published: {
      password: 'Hello world!',
      stored:
        '$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1',
    },
  },
  { name: 'nginx with bcrypt', start: startNginx, username: 'web', verifierOf: bcrypt, published: BCRYPT },
  { name: 'NATS', start: startNats, username: 'web', verifierOf: bcrypt, published: BCRYPT },
]

const TIMEOUT_MS = 120_000

describe.each(CASES)('$name', ({ start, username, verifierOf, published }) => {
  let engine: Engine
  beforeAll(async () => {
    engine = await start()
  }, TIMEOUT_MS)
  afterAll(() => engine?.stop())

  test('lets nobody in before a password was applied', async () => {
    expect(await engine.login(username, published.password)).toBe(false)
  })

  test('accepts the password of a published verifier, and no other', async () => {
    await engine.apply(username, published.stored)
    expect(await engine.login(username, published.password)).toBe(true)
    expect(await engine.login(username, `${published.password}x`)).toBe(false)
    expect(await engine.login(username, published.password.toUpperCase())).toBe(false)
    expect(await engine.login(username, '')).toBe(false)
  })

  test('forgets the old password when a new one is applied', async () => {
    const [old, next] = [newPassword(), newPassword()]
    await engine.apply(username, verifierOf(old))
    expect(await engine.login(username, old)).toBe(true)
    await engine.apply(username, verifierOf(next))
    expect(await engine.login(username, old)).toBe(false)
    expect(await engine.login(username, next)).toBe(true)
  })

  test('VER-06: does not accept the password whose value was taken with a newline at its end', async () => {
    const password = newPassword()
    await engine.apply(username, verifierOf(`${password}\n`))
    expect(await engine.login(username, password)).toBe(false)
  })

  test('gives a second account a password of its own', async () => {
    const [one, two] = [newPassword(), newPassword()]
    await engine.apply(username, verifierOf(one))
    await engine.apply('second', verifierOf(two))
    expect(await engine.login(username, one)).toBe(true)
    expect(await engine.login('second', two)).toBe(true)
    expect(await engine.login('second', one)).toBe(false)
  })

  test('follows two mints and a revoke', async () => {
    expect(await chain(engine, inMemory(username, verifierOf))).toEqual(EXPECTED_LOGINS)
  })

  test('shows a stored value that does not belong to the password', async () => {
    const minting = inMemory(username, () => verifierOf(newPassword()))
    expect(await chain(engine, minting)).toEqual({
      ...EXPECTED_LOGINS,
      minted: false,
      mintedUntilTheNextIsApplied: false,
      next: false,
      nextUntilTheRevocationIsApplied: false,
    })
  })

  test('tells an engine that is gone from a password that is wrong', async () => {
    await engine.stop()
    await expect(engine.login(username, newPassword())).rejects.toThrow()
  })
})

const newPassword = (): string => randomBytes(16).toString('hex')

/** An account whose Secret is a variable. */
function inMemory(username: string, verifierOf: (password: string) => string): Minting {
  let stored = ''
  return {
    username,
    async mint() {
      const password = newPassword()
      stored = verifierOf(password)
      return password
    },
    async revoke() {
      stored = verifierOf(newPassword())
    },
    storedValue: async () => stored,
  }
}
