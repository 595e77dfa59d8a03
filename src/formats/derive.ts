import { fail, ok, type Result } from '../core/result.ts'
import { toBase64, utf8 } from '../core/text.ts'
import type { DeriveDeps, FormatInput, NamedFormat } from './format.ts'

const MAX_STORED_BYTES = 8 * 1024
/** Flux reads a value at a `targetPath` as `helm --set` does: commas, braces and backslashes mean something. */
const SAFE_IN_VALUES = /^[A-Za-z0-9+/=.$:*_-]+$/
/** As Helm does, which ignores case here and takes a sign (`pkg/strvals/parser.go`, `typedVal`). */
const READ_AS_ANOTHER_TYPE = /^(true|false|null|[+-]?\d+)$/i

interface DeriveOptions {
  /** Set when the value reaches the chart as a Helm value. Required, so that no caller forgets it. */
  readonly valuesPath: string | undefined
  /**
   * Somebody has chosen the password: it may be so short that a value contains it by chance. Only for formats that are
   * built in, which do not put it there.
   */
  readonly isChosen?: boolean
}

/**
 * The value to store for a password, checked against everything that makes an engine take it for something else. Fails
 * with `value_not_canonical`, or `webhook_failed` when a webhook gave it; then nothing may be written. An empty password fails too: the hash of nothing is a
 * password that anyone can type. Throws what the format throws (a TypeError for a password that it cannot encode).
 */
export async function deriveStored(
  format: NamedFormat,
  input: FormatInput,
  deps: DeriveDeps,
  options: DeriveOptions,
): Promise<Result<string>> {
  const refused = fail({ reason: 'value_not_canonical', format: format.name })
  if (input.password === '' || !input.password.isWellFormed()) return refused
  const stored = await format.derive(input, deps)
  if (typeof stored !== 'string') return stored
  const problem = problemOf(format, stored, input.password, options)
  if (problem === undefined) return ok(stored)
  return format.refuse?.(problem) ?? refused
}

/** Why a value may not be stored, without the value. */
function problemOf(
  { canonical, storesPlaintext }: NamedFormat,
  stored: string,
  password: string,
  { valuesPath, isChosen = false }: DeriveOptions,
): string | undefined {
  if (stored === '') return 'the value is empty'
  if (utf8(stored).length > MAX_STORED_BYTES) return `the value is longer than ${MAX_STORED_BYTES} bytes`
  if (!canonical.test(stored)) return 'the value is not what the format stores'
  const mayContain = storesPlaintext || isChosen
  if (!mayContain && disguises(password).some((each) => stored.includes(each)))
    return 'the value contains the password'
  if (valuesPath !== undefined && !isSafeInValues(stored)) return 'the value would change in Helm values'
  return undefined
}

/** As it is, and as an honest mistake would wrap it: base64 without what its end depends on, and hex. */
function disguises(password: string): readonly string[] {
  const bytes = utf8(password)
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return [
    password,
    toBase64(bytes.subarray(0, bytes.length - (bytes.length % 3))),
    hex,
    hex.toUpperCase(),
  ].filter((each) => each !== '')
}

const isSafeInValues = (stored: string): boolean =>
  SAFE_IN_VALUES.test(stored) && !READ_AS_ANOTHER_TYPE.test(stored)
