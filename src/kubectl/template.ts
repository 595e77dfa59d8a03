import { utf8 } from '../core/text.ts'

/** What is printed for `-o uri`: texts, and where a value goes in between. */
export type Template = readonly Part[]
type Part = { readonly text: string } | { readonly value: Placeholder }
type Placeholder = 'username' | 'password'

const KNOWN = '{username} and {password}'

/**
 * Reads `postgresql://{username}:{password}@host/db`. Answers a text that says what is wrong with it: braces that are no
 * placeholder (RFC 3986 has none: `%7B` and `%7D` stand for them), or no place for the password.
 */
export function parseTemplate(text: string): Template | string {
  const parts: Part[] = []
  for (const piece of text.split(/(\{[^{}]*\})/)) {
    const [, placeholder] = /^\{(.*)\}$/s.exec(piece) ?? []
    if (placeholder === 'username' || placeholder === 'password') parts.push({ value: placeholder })
    else if (placeholder !== undefined) return `it knows no ${piece}: ${KNOWN} are all there is`
    else if (/[{}]/.test(piece))
      return `a brace stands alone: ${KNOWN} are all there is, %7B and %7D are braces`
    else parts.push({ text: piece })
  }
  const hasPassword = parts.some((part) => 'value' in part && part.value === 'password')
  return hasPassword ? parts : 'it has no {password}, which would be lost'
}

export const fillTemplate = (template: Template, values: { readonly [P in Placeholder]: string }): string =>
  template.map((part) => ('text' in part ? part.text : percentEncode(values[part.value]))).join('')

/** Everything but the unreserved characters of RFC 3986, section 2.3, as UTF-8: right in every part of a URI. */
const percentEncode = (text: string): string =>
  [...utf8(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte)
      return /[A-Za-z0-9\-._~]/.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
