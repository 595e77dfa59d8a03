import { apr1 } from './apr1.ts'
import { bcrypt } from './bcrypt.ts'
import { cachingSha2Password } from './caching-sha2-password.ts'
import type { Format } from './format.ts'
import { mysqlNative } from './mysql-native.ts'
import { plaintext } from './plaintext.ts'
import { rabbitmqSha256 } from './rabbitmq-sha256.ts'
import { redisAcl } from './redis-acl.ts'
import { scramSha256 } from './scram-sha-256.ts'
import { sha256 } from './sha256.ts'
import { sha512Crypt } from './sha512-crypt.ts'

/** Every built-in format. A new one is a file and a line here. */
export const formats: ReadonlyMap<string, Format> = new Map(
  [
    scramSha256,
    mysqlNative,
    cachingSha2Password,
    sha256,
    rabbitmqSha256,
    redisAcl,
    bcrypt,
    sha512Crypt,
    apr1,
    plaintext,
  ].map((format) => [format.name, format]),
)
