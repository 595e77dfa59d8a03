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

/** JSON with a line a field, anything else as it came. */
function readable(text: string): string {
  const parsed = parseJson(text)
  return parsed === undefined ? text.trimEnd() : JSON.stringify(parsed, null, 2)
}
