import { setTimeout as sleep } from 'node:timers/promises'
import type { Fetch } from '../../src/core/deps.ts'

/** A call as it went out. */
interface Call {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: Headers
  readonly body: string
}

/** What goes wrong with a call. */
type Fault =
  /** Answered by somebody on the way: the server never sees it. */
  | {
      readonly answer: number
      readonly body?: object | string
      readonly headers?: Readonly<Record<string, string>>
    }
  /** The server does it, and the caller is told something else. */
  | {
      readonly answerAfter: number
      readonly body?: object | string
      readonly headers?: Readonly<Record<string, string>>
    }
  /** ECONNREFUSED: it never leaves. */
  | { readonly breaks: 'before' }
  /** ECONNRESET: the server does it, and the answer is lost. */
  | { readonly breaks: 'after' }
  /** ECONNRESET, and the server never got the whole of it. */
  | { readonly breaks: 'halfway' }
  /** Milliseconds before the server gets it. */
  | { readonly delayMs: number }
  /** No answer until the caller gives up; the server does it, or not. */
  | { readonly silent: 'before' | 'after' }

export interface Rule {
  readonly when: (call: Call) => boolean
  readonly fault: Fault
  /** How often; for ever by default. */
  readonly times?: number
}

export interface Faulty {
  readonly fetch: Fetch
  /** Every call, in order, those that failed included. */
  readonly calls: () => readonly Call[]
  /** From now on; earlier rules go first. */
  readonly add: (rule: Rule) => void
}

/** A way to a server that is not to be relied on. The first rule that fits a call decides. */
export function withFaults(fetch: Fetch, rules: readonly Rule[] = []): Faulty {
  const calls: Call[] = []
  const live = rules.map(countdown)
  return {
    calls: () => calls,
    add: (rule) => live.push(countdown(rule)),
    fetch: async (request) => {
      const url = new URL(request.url)
      const call: Call = {
        method: request.method,
        path: `${url.pathname}${url.search}`,
        headers: new Headers(request.headers),
        body: await request.clone().text(),
      }
      calls.push(call)
      const rule = live.find(({ left, when }) => left > 0 && when(call))
      if (rule === undefined) return fetch(request)
      rule.left -= 1
      return meet(rule.fault, request, fetch)
    },
  }
}

const countdown = ({ times = Number.POSITIVE_INFINITY, ...rule }: Rule) => ({ ...rule, left: times })

async function meet(fault: Fault, request: Request, fetch: Fetch): Promise<Response> {
  if ('answer' in fault) return responseOf(fault.answer, fault)
  if ('answerAfter' in fault) {
    await fetch(request)
    return responseOf(fault.answerAfter, fault)
  }
  if ('delayMs' in fault) {
    await sleep(fault.delayMs, undefined, { signal: request.signal })
    return fetch(request)
  }
  if ('silent' in fault) {
    if (fault.silent === 'after') await fetch(request)
    return gaveUp(request.signal)
  }
  if (fault.breaks === 'after') await fetch(request)
  throw broken(fault.breaks === 'before' ? 'ECONNREFUSED' : 'ECONNRESET')
}

function responseOf(
  status: number,
  { body = '', headers }: { body?: object | string; headers?: Readonly<Record<string, string>> },
): Response {
  if (typeof body === 'string') return new Response(body, { status, ...(headers && { headers }) })
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json', ...headers },
  })
}

const gaveUp = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

/** As `node:https` rejects. */
const broken = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code })

/** A `v1 Status` as a server words a failure. */
export const statusBody = (code: number, reason: string, message: string): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason,
  code,
})
