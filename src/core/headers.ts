import type { HeaderFields } from './http.ts'
import { fromUtf8 } from './text.ts'

/**
 * The fields of a request's header section (RFC 9110, section 5), in order and before anybody joined those of one name.
 * Names are in lower case; values are as the runtime hands them over: bytes as Latin-1 on Node.
 */
export interface HeaderLines {
  readonly lines: readonly (readonly [name: string, value: string])[]
  /** The runtime has joined fields of one name with commas: a comma may stand between two values or inside one. */
  readonly areJoined: boolean
}

/** From Node's `rawHeaders`: names and values in turn. */
export function linesOf(rawHeaders: readonly string[]): HeaderLines {
  const lines: [string, string][] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    lines.push([(rawHeaders[i] ?? '').toLowerCase(), rawHeaders[i + 1] ?? ''])
  }
  return { lines, areJoined: false }
}

/** From the Fetch API, which joins. */
export const joinedLinesOf = (headers: Headers): HeaderLines => ({ lines: [...headers], areJoined: true })

/** As `Headers` of the Fetch API have them. */
export const fieldsOf = (lines: HeaderLines): HeaderFields => {
  const get = (name: string) => {
    const values = valuesOf(lines, name.toLowerCase())
    return values.length === 0 ? null : values.join(', ')
  }
  return { get, has: (name) => get(name) !== null }
}

/** The values of one name, given in lower case. */
export const valuesOf = ({ lines }: HeaderLines, name: string): readonly string[] =>
  lines.filter(([each]) => each === name).map(([, value]) => value)

/**
 * A value that was UTF-8 on the wire, as Go's HTTP client sends names of people, and arrived as Latin-1. Undefined when
 * it was no UTF-8: a name that reads in two ways is nobody's.
 */
export function decodeUtf8Value(value: string): string | undefined {
  const bytes = new Uint8Array(value.length)
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    if (code > 0xff) return undefined
    bytes[i] = code
  }
  return fromUtf8(bytes)
}
