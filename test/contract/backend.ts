import type { Fetch } from '../../src/core/deps.ts'

export type HeaderLine = readonly [name: string, value: string]

/** The function under test on one runtime, in front of one Kubernetes API. */
export interface Backend {
  /** Sends a request to the function. `path` may be anything that can stand on a request line. */
  readonly call: (path: string, init?: RequestInit) => Promise<Response>
  /** The same without a body, each header as a line of its own and its value in UTF-8. */
  readonly callWithLines: (method: string, path: string, lines: readonly HeaderLine[]) => Promise<Response>
  /** The runtime hands headers over joined: the function cannot tell two lines from one with a comma. */
  readonly joinsHeaders: boolean
  /** The Kubernetes API, as a cluster administrator. */
  readonly admin: Fetch
  /** A token for the function, of a ServiceAccount that exists. */
  readonly tokenOf: (namespace: string, serviceAccount: string) => Promise<string>
  /** What the function has logged. */
  readonly logged: () => string
  /** Everything that the Kubernetes API has ever stored, as far as the backend can tell. */
  readonly stored: () => Promise<string>
  readonly stop: () => Promise<void>
}

export const GROUP = 'core.cozystack.io'
