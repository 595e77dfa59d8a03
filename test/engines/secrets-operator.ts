import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildExternalSecrets } from '../control-plane/build-external-secrets.ts'
import type { ControlPlane } from '../control-plane/control-plane.ts'
import { type Daemon, startDaemon } from '../control-plane/daemon.ts'
import { definitionsAreServed } from '../control-plane/established.ts'
import { freePorts } from '../control-plane/ports.ts'

/** External Secrets Operator in one namespace. */
export interface SecretsOperator {
  /** Everything that it has logged. */
  readonly log: () => Promise<string>
  /** Ends it and starts it anew. */
  readonly restart: () => Promise<void>
  readonly end: () => Promise<void>
}

/** Of the parts that look beyond the namespace, none. */
const OFF = [
  'enable-cluster-store-reconciler',
  'enable-cluster-external-secret-reconciler',
  'enable-cluster-push-secret-reconciler',
  'enable-push-secret-reconciler',
]

/** The definitions of its resources, served when it ends. */
export async function applySecretsOperatorCrds(
  plane: Pick<ControlPlane, 'apply' | 'kubectl'>,
): Promise<void> {
  const { crds } = await buildExternalSecrets()
  const names = await readdir(crds)
  await plane.apply(
    (await Promise.all(names.map((name) => readFile(join(crds, name), 'utf8')))).join('\n---\n'),
  )
  await definitionsAreServed(plane)
}

/** The operator's own program, as the cluster's administrator, after its definitions. */
export async function startSecretsOperator(
  plane: Pick<ControlPlane, 'folder' | 'kubeconfig' | 'apply' | 'kubectl'>,
  namespace: string,
): Promise<SecretsOperator> {
  const { operator } = await buildExternalSecrets()
  await applySecretsOperatorCrds(plane)
  const logFile = join(plane.folder, 'external-secrets.log')
  const start = async (): Promise<Daemon> => {
    const [port = 0] = await freePorts(1)
    const flags = [`--namespace=${namespace}`, `--metrics-addr=127.0.0.1:${port}`, '--loglevel=debug']
    const off = OFF.map((name) => `--${name}=false`)
    const env = { ...process.env, KUBECONFIG: plane.kubeconfig }
    return startDaemon('external-secrets', operator, [...flags, ...off], logFile, env)
  }
  let daemon = await start()
  return {
    log: () => readFile(logFile, 'utf8'),
    restart: async () => {
      await daemon.end()
      daemon = await start()
    },
    end: () => daemon.end(),
  }
}
