import { utf8 } from '../core/text.ts'

/** What crypt(3) and its relatives share: an alphabet, and an order of bits that is not base64's. */

export const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Bytes of a digest by their place, the highest first, and how many characters they make. */
export type Group = readonly [high: number, middle: number, low: number, characters: number]

/** For a group that is not full: a place that no digest has, and so a zero. */
export const NONE = -1

/** Each group is a number of 24 bits, written from its lowest six bits on (`b64_from_24bit` in SHA-crypt.txt). */
export function encodeGroups(digest: Uint8Array, groups: readonly Group[]): string {
  const byte = (place: number): number => digest[place] ?? 0
  return groups
    .map(([high, middle, low, characters]) => {
      const bits = (byte(high) << 16) | (byte(middle) << 8) | byte(low)
      return Array.from({ length: characters }, (_, index) => ALPHABET[(bits >> (6 * index)) & 63]).join('')
    })
    .join('')
}

/** A character for each random byte: 64 divides 256, so all are equally likely. */
export const saltText = (random: Uint8Array): string =>
  Array.from(random, (byte) => ALPHABET[byte & 63]).join('')

/**
 * The bytes of a password. Engines take the UTF-8 that a client sends. C ends a text at a NUL, and would then check
 * another password than this one: a TypeError.
 */
export function passwordBytes(password: string, format: string): Uint8Array<ArrayBuffer> {
  if (password.includes('\0')) throw new TypeError(`${format} takes no password with a NUL in it`)
  return utf8(password)
}

export function join(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
