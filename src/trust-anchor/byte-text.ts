/** As arguments of one call. */
const CHUNK = 4096

/** A character a byte, whatever the encoding: for formats in which all that matters is ASCII. */
export function byteText(bytes: Uint8Array): string {
  let text = ''
  // Not by a TextDecoder: its latin1 is windows-1252, which moves some.
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK))
  }
  return text
}
