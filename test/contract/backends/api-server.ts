import type { Fetch } from '../../../src/core/deps.ts'

/** A Kubernetes API with the shipped roles and the example definitions, ready for tenants. */
export interface ApiServer {
  /** As a cluster administrator. */
  readonly admin: Fetch
  /** As the function's own ServiceAccount. */
  readonly asFunction: Fetch
  /** The same for a process of its own: what its pod would find. */
  readonly forProcess: () => Promise<{
    readonly url: string
    readonly caFile?: string
    readonly tokenFile: string
  }>
  readonly tokenOf: (namespace: string, serviceAccount: string) => Promise<string>
  readonly stored: () => Promise<string>
  readonly stop: () => Promise<void>
}

export const FUNCTION = { namespace: 'mintonce', name: 'mintonce' } as const
