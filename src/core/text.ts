/** Text as the wire wants it. */

const encoder = new TextEncoder()

export const utf8 = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text)

/** Strict: undefined for bytes that are no UTF-8. */
export function fromUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

export const toBase64 = (bytes: Uint8Array): string => {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}

/** Undefined for text that is no base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  const binary = binaryOf(text)
  return binary === undefined ? undefined : bytesOf(binary)
}

/** A character for each byte; undefined for text that is no base64. */
function binaryOf(text: string): string | undefined {
  try {
    return atob(text)
  } catch {
    return undefined
  }
}

function bytesOf(binary: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at)
  return bytes
}

/** A value of a Secret's `data`: base64 of UTF-8. */
export const encodeData = (text: string): string => toBase64(utf8(text))

export function decodeData(value: string | undefined): string | undefined {
  const binary = value === undefined ? undefined : binaryOf(value)
  // A sweep decodes tens of thousands, and hardly one that is not its own UTF-8.
  return binary === undefined || ASCII.test(binary) ? binary : fromUtf8(bytesOf(binary))
}

const ASCII = /^\p{ASCII}*$/u

/** The longest prefix of at most `maxBytes` bytes of UTF-8 that ends at a whole character. */
export function cutBytes(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text
  let bytes = 0
  let cut = ''
  for (const character of text) {
    bytes += utf8(character).length
    if (bytes > maxBytes) return cut
    cut += character
  }
  return text
}

/** RFC 3339 in UTC to the second, as `metav1.Time` is written. */
export const toTimestamp = (milliseconds: number): string =>
  // biome-ignore lint/style/noRestrictedGlobals: formats a given time, reads no clock
  new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/, 'Z')

/** Of what `toTimestamp` writes, in milliseconds since the epoch; undefined for anything else. */
export function parseTimestamp(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text)) return undefined
  // biome-ignore lint/style/noRestrictedGlobals: parses a given time, reads no clock
  const milliseconds = Date.parse(text)
  return Number.isNaN(milliseconds) ? undefined : milliseconds
}

/** RFC 3339 in UTC with six decimals, as `metav1.MicroTime` is written. */
export const toMicroTimestamp = (milliseconds: number): string =>
  // biome-ignore lint/style/noRestrictedGlobals: formats a given time, reads no clock
  new Date(milliseconds).toISOString().replace('Z', '000Z')
