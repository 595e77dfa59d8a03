/** An element in DER of up to 64 KiB: tag, length and contents. */
export function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents)
  const { length: size } = content
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}

/** Of the element that begins there: where its content begins, and where it ends. */
function extentAt(der: Buffer, at: number): { readonly begin: number; readonly end: number } {
  const first = der.readUInt8(at + 1)
  const octets = first < 128 ? 0 : first - 128
  const begin = at + 2 + octets
  return { begin, end: begin + (octets === 0 ? first : der.readUIntBE(at + 2, octets)) }
}

/** The same certificate with other bytes for its signature. */
export function withSignature(certificate: Buffer, bytes: Uint8Array): Buffer {
  const { begin } = extentAt(certificate, 0)
  const { end } = extentAt(certificate, extentAt(certificate, begin).end)
  return element(0x30, certificate.subarray(begin, end), element(0x03, Buffer.from([0]), bytes))
}
