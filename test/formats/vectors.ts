import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A known answer, and who gave it. */
export interface Vector {
  readonly source: string
  /** Set where it answers a reported problem. */
  readonly case?: string
  readonly password: string
  /** Base64 of the random bytes, for a salted format. */
  readonly salt?: string
  readonly stored: string
}

/** Throws for a format without vectors. */
export const vectorsOf = (format: string): readonly Vector[] =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../vectors', `${format}.json`), 'utf8'))

export const titleOf = (vector: Vector): string =>
  vector.case === undefined ? vector.source : `${vector.case}: ${vector.source}`

/** Deps whose every random bytes are a vector's salt. */
export const saltOf = ({ salt = '' }: Vector) => ({
  randomBytes(length: number) {
    const bytes = Uint8Array.from(Buffer.from(salt, 'base64'))
    if (bytes.length !== length) throw new RangeError(`the vector has a salt of ${bytes.length} bytes`)
    return bytes
  },
})

export const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length))
