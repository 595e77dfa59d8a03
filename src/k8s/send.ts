import { readBytes } from '../core/bytes.ts'
import type { Fetch } from '../core/deps.ts'
import { releasable } from '../core/time-limit.ts'

/** A request to the Kubernetes API as plain values. Whoever sends it knows the address, and adds who asks. */
export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Absolute, with its query. */
  readonly path: string
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal: AbortSignal
  /** Of the answer: a longer one is not read to its end. */
  readonly maxBytes: number
}

export interface KubeAnswer {
  readonly status: number
  /** By a name in lower case; null when there is none. */
  readonly header: (name: string) => string | null
  /** All of its body; undefined when there is more than `maxBytes`. */
  readonly bytes: Uint8Array | undefined
}

/**
 * The seam to the Kubernetes API: sends a request once and reads its answer, whatever the status. Follows no redirect: that
 * would carry the body, a token review's token for example, to another host. Rejects when no whole answer came, with an
 * error of which `wasNeverSent` can tell whether the request may have left.
 */
export type Send = (request: KubeRequest) => Promise<KubeAnswer>

/** In the cluster this is the API server's name; elsewhere whoever sends maps it to an address. */
const KUBE_ORIGIN = 'https://kubernetes.default.svc'

/** Over the Fetch API, for what speaks that: a worker's binding, a sandbox. */
export const sendOver =
  (fetch: Fetch): Send =>
  async ({ method, path, headers, body, signal: asked, maxBytes }) => {
    const { signal, release } = releasable(asked)
    const init = {
      method,
      headers,
      signal,
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    } as const
    try {
      const answer = await fetch(new Request(`${KUBE_ORIGIN}${path}`, init))
      const bytes = await readBytes(answer.body, maxBytes)
      return { status: answer.status, header: (name) => answer.headers.get(name), bytes }
    } finally {
      release()
    }
  }
