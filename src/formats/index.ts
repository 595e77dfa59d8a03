import type { Format } from './format.ts'
import { mysqlNative } from './mysql-native.ts'
import { plaintext } from './plaintext.ts'
import { scramSha256 } from './scram-sha-256.ts'
import { sha256 } from './sha256.ts'

/** Every built-in format. A new one is a file and a line here. */
export const formats: ReadonlyMap<string, Format> = new Map(
  [scramSha256, mysqlNative, sha256, plaintext].map((format) => [format.name, format]),
)
