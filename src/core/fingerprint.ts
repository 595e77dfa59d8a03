import { utf8 } from './text.ts'

const PRIME = 0x100000001b3n
const MASK = (1n << 64n) - 1n

/** FNV-1a of 64 bits in hex (draft-eastlake-fnv): for what changes, and never where somebody gains by finding the same. */
export function fingerprint(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of utf8(text)) hash = ((hash ^ BigInt(byte)) * PRIME) & MASK
  return hash.toString(16).padStart(16, '0')
}
