import type { Deps } from '../core/deps.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { utf8 } from '../core/text.ts'
import type { Format, FormatInput } from './format.ts'

const MAX_STORED_BYTES = 8 * 1024
/** Flux reads a value at a `targetPath` as `helm --set` does: commas, braces and backslashes mean something. */
const SAFE_IN_VALUES = /^[A-Za-z0-9+/=.$:*_-]+$/
/** As Helm does, which ignores case here and takes a sign (`pkg/strvals/parser.go`, `typedVal`). */
const READ_AS_ANOTHER_TYPE = /^(true|false|null|[+-]?\d+)$/i

interface DeriveOptions {
  /** Set when the value reaches the chart as a Helm value. Required, so that no caller forgets it. */
  readonly valuesPath: string | undefined
}

/**
 * The value to store for a password, checked against everything that makes an engine take it for something else. Fails
 * with `value_not_canonical`; then nothing may be written. An empty password fails too: the hash of nothing is a
 * password that anyone can type. Throws what the format throws (a TypeError for a password that it cannot encode).
 */
export async function deriveStored(
  format: Format,
  input: FormatInput,
  deps: Pick<Deps, 'randomBytes'>,
  { valuesPath }: DeriveOptions,
): Promise<Result<string>> {
  const refused = fail({ reason: 'value_not_canonical', format: format.name })
  if (input.password === '' || !input.password.isWellFormed()) return refused
  const stored = await format.derive(input, deps)
  const sound =
    format.canonical.test(stored) &&
    utf8(stored).length <= MAX_STORED_BYTES &&
    (format.storesPlaintext || !stored.includes(input.password)) &&
    (valuesPath === undefined || isSafeInValues(stored))
  return sound ? ok(stored) : refused
}

const isSafeInValues = (stored: string): boolean =>
  SAFE_IN_VALUES.test(stored) && !READ_AS_ANOTHER_TYPE.test(stored)
