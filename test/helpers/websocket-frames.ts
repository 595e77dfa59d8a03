import type { Duplex } from 'node:stream'

const OPCODES = { continuation: 0x0, binary: 0x2, close: 0x8 } as const

/** One whole message of a server, which does not mask (RFC 6455, section 5.2). */
export function frameOf(payload: Buffer, kind: keyof typeof OPCODES = 'binary', isLast = true): Buffer {
  const first = (isLast ? 0x80 : 0) | OPCODES[kind]
  if (payload.length < 126) return Buffer.concat([Buffer.of(first, payload.length), payload])
  if (payload.length < 65_536) {
    const head = Buffer.of(first, 126, 0, 0)
    head.writeUInt16BE(payload.length, 2)
    return Buffer.concat([head, payload])
  }
  const head = Buffer.alloc(10)
  head.set([first, 127])
  head.writeBigUInt64BE(BigInt(payload.length), 2)
  return Buffer.concat([head, payload])
}

/** The same message in fragments of so many bytes (RFC 6455, section 5.4). */
export function fragmentsOf(payload: Buffer, size: number): Buffer {
  const count = Math.ceil(payload.length / size)
  const frames = Array.from({ length: count }, (_, at) =>
    frameOf(
      payload.subarray(at * size, (at + 1) * size),
      at === 0 ? 'binary' : 'continuation',
      at === count - 1,
    ),
  )
  return Buffer.concat(frames)
}

/** Hands over the payload of each binary message that a client sends, which masks, in frames of up to 64 KiB. */
export function acceptFrames(socket: Duplex, take: (payload: Buffer) => void): void {
  let rest = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    for (let frame = firstOf(rest); frame !== undefined; frame = firstOf(rest)) {
      rest = rest.subarray(frame.length)
      if (frame.opcode === OPCODES.binary) take(frame.payload)
      if (frame.opcode === OPCODES.close) socket.end()
    }
  })
}

function firstOf(bytes: Buffer): { opcode: number; payload: Buffer; length: number } | undefined {
  if (bytes.length < 2) return undefined
  const short = bytes.readUInt8(1) & 0x7f
  const start = short === 126 ? 8 : 6
  if (bytes.length < start) return undefined
  const size = short === 126 ? bytes.readUInt16BE(2) : short
  if (bytes.length < start + size) return undefined
  const mask = bytes.subarray(start - 4, start)
  const payload = Buffer.from(bytes.subarray(start, start + size)).map(
    (byte, index) => byte ^ (mask[index % 4] ?? 0),
  )
  return { opcode: bytes.readUInt8(0) & 0x0f, payload: Buffer.from(payload), length: start + size }
}
