import type { Config } from '../config.ts'
import type { Wait } from '../conversion/rotate/rotator.ts'
import type { Deps } from '../core/deps.ts'
import type { ConversionKube } from '../k8s/conversion-kube.ts'
import type { Kube } from '../k8s/kube.ts'
import type { ExecWay } from '../k8s/node-exec.ts'
import type { ConvertOutput } from './convert-output.ts'

/** What a part of the conversion works with. */
export interface ConvertParts {
  readonly config: Pick<Config, 'webhookHosts' | 'kubeTimeoutMs'>
  readonly kube: Kube
  readonly conversionKube: ConversionKube
  readonly deps: Deps
  /** How commands in pods are run. */
  readonly execWay: ExecWay
  readonly wait: Wait
  /** All documents of a YAML or JSON file. Throws an Error that says why it cannot be read. */
  readonly readDocuments: (file: string) => Promise<readonly unknown[]>
  /** Fires when the process is told to end: what has begun ends, and nothing more begins. */
  readonly signal: AbortSignal
  readonly output: ConvertOutput
}
