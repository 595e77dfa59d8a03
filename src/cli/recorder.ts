import { STATUS_CODES } from 'node:http'
import type { Fetch } from '../core/deps.ts'
import { parseJson } from '../core/json.ts'
import { curlOf } from './curl.ts'

/** One call as it happened, in the words of a terminal. */
export interface Exchange {
  readonly command: string
  readonly statusLine: string
  readonly body: string
}

export interface Recorder {
  readonly fetch: Fetch
  /** The newest call. Undefined before the first, and while its answer is outstanding. */
  readonly last: () => Exchange | undefined
}

/** A fetch that remembers what went over it. */
export function createRecorder(fetch: Fetch): Recorder {
  let last: Exchange | undefined
  return {
    fetch: async (request) => {
      last = undefined
      const command = await curlOf(request)
      const answer = await fetch(request)
      const { status } = answer
      const body = readable(await answer.clone().text())
      last = { command, statusLine: `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd(), body }
      return answer
    },
    last: () => last,
  }
}

const WIDTH = 100

/** JSON with a line for everything that fits into one, anything else as it came. */
export function readable(text: string): string {
  const parsed = parseJson(text)
  return parsed === undefined ? text.trimEnd() : layout(parsed, '')
}

function layout(value: unknown, indent: string): string {
  const line = JSON.stringify(value)
  const isFlat = typeof value !== 'object' || value === null
  if (isFlat || (indent !== '' && indent.length + line.length <= WIDTH)) return line
  const inner = `${indent}  `
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const items = Array.isArray(value)
    ? value.map((item) => layout(item, inner))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${layout(item, inner)}`)
  return `${open}\n${items.map((item) => `${inner}${item}`).join(',\n')}\n${indent}${close}`
}
