import type { Result } from '../core/result.ts'

/** A container and what to run in it, as `pods/exec` takes it. Whoever lists processes sees the command: no secret in it. */
export interface ExecTarget {
  readonly namespace: string
  readonly pod: string
  readonly container: string
  readonly command: readonly string[]
}

export interface ExecAnswer {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number
}

/**
 * Runs a command in a container, with this text as its input. Not every API server can end the input: the command must
 * know by itself where it ends. A command that fails is an answer, with its exit code. Fails with a `kube_*` reason when
 * it was not run, was cut off by `signal` or a time limit (it may go on in the container), or said too much.
 */
export type ExecInPod = (
  target: ExecTarget,
  stdin: string,
  options?: { readonly signal?: AbortSignal },
) => Promise<Result<ExecAnswer>>
