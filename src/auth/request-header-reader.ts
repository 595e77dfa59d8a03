import type { Log } from '../core/deps.ts'
import type { Kube } from '../k8s/kube.ts'
import { parseRequestHeader, type RequestHeaderConfig } from './request-header.ts'

interface ReaderOptions {
  readonly kube: Pick<Kube, 'getConfigMap'>
  readonly log: Log
}

/** Keeps what kube-apiserver publishes about its front proxy. */
export interface RequestHeaderReader {
  /** Undefined while there is nothing that may be believed: nobody is a front proxy then. */
  readonly current: () => RequestHeaderConfig | undefined
  /**
   * Reads it again. Kept through an API server that does not answer, as any cache of it would be; dropped when it is
   * gone or must not be believed. Answers what is wrong with it, by key.
   */
  readonly read: () => Promise<readonly string[]>
}

const NAMESPACE = 'kube-system'
const NAME = 'extension-apiserver-authentication'

export function createRequestHeaderReader({ kube, log }: ReaderOptions): RequestHeaderReader {
  let known: { readonly text: string; readonly config: RequestHeaderConfig | undefined } | undefined
  return {
    current: () => known?.config,
    async read() {
      const answer = await kube.getConfigMap(NAMESPACE, NAME)
      if (!answer.ok) {
        log('warn', 'request_header_unread', { failure: answer.failure })
        return []
      }
      const parsed = parseRequestHeader(answer.value)
      const text = JSON.stringify(parsed)
      if (known?.text === text) return parsed.ok ? [] : parsed.problems
      known = { text, config: parsed.ok ? parsed.config : undefined }
      if (parsed.ok) {
        log('info', 'request_header_read', { allowedNames: parsed.config.allowedNames })
        return []
      }
      log('error', 'request_header_refused', { problems: parsed.problems })
      return parsed.problems
    },
  }
}
