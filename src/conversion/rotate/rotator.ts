import type { Deps } from '../../core/deps.ts'
import type { Result } from '../../core/result.ts'
import type { ConversionKube } from '../../k8s/conversion-kube.ts'
import type { ExecInPod } from '../../k8s/exec-in-pod.ts'
import type { Kube } from '../../k8s/kube.ts'

/** Resolves after so many milliseconds, or at once when the signal fires. */
export type Wait = (milliseconds: number, signal?: AbortSignal) => Promise<void>

/** What a rotation does its work with. */
export interface RotationServices {
  readonly kube: Pick<Kube, 'getHelmRelease' | 'getSecret' | 'createSecret' | 'updateSecret' | 'deleteSecret'>
  readonly conversionKube: Pick<ConversionKube, 'patchHelmRelease' | 'listPods'>
  readonly exec: ExecInPod
  readonly deps: Pick<Deps, 'now' | 'randomBytes'>
  readonly wait: Wait
  /** Where pending passwords are kept: no tenant reads it. */
  readonly platformNamespace: string
}

export interface ReleaseTarget {
  readonly namespace: string
  readonly release: string
}

/** How long a release may take. */
export interface Patience {
  /** Milliseconds since the epoch. */
  readonly deadline: number
  /** Ends waiting. A call that has begun ends by itself. */
  readonly signal?: AbortSignal
}

export interface Passwords {
  readonly pending: string
  /** Those that the engine may still have, the likeliest first. */
  readonly known: readonly string[]
}

/** How the engine of an account comes to its new password. */
export type Rotator =
  /**
   * By us, before the Secret has it. Done again it does nothing. Answers what hindered it, in words without a password;
   * undefined when the engine takes the pending password.
   */
  | {
      readonly by: 'exec'
      readonly change: (
        services: RotationServices,
        target: ReleaseTarget,
        passwords: Passwords,
      ) => Promise<Result<string | undefined>>
      /** What happens to the engine then, for those who run it. */
      readonly after: string
    }
  /** By its chart, which reads the Secret when it is rendered. */
  | { readonly by: 'upgrade' }
