import { openExample } from '../src/cli/example.ts'
import { createDeps } from '../src/cli/run-app.ts'
import type { Config } from '../src/config.ts'
import type { Fetch } from '../src/core/deps.ts'
import { openKubeconfig } from '../src/k8s/node-kubeconfig.ts'
import { orBadGateway } from './kube-binding.ts'
import type { Options } from './options.ts'

const ROLES = new URL('../deploy/base/rbac/', import.meta.url)

interface Opened {
  readonly fetch: Fetch
  /** Undefined: the sandbox. */
  readonly cluster: { readonly context: string; readonly server: string } | undefined
}

/** The Kubernetes API that was asked for. Throws an Error that says what is missing. */
export async function openKubernetes(
  options: Exclude<Options, { readonly is: 'help' }>,
  config: Config,
): Promise<Opened> {
  if (options.is === 'sandbox') {
    const { audiences } = config
    const { kube } = await openExample({ deps: createDeps(config), rolesFolder: ROLES, audiences })
    return { fetch: kube, cluster: undefined }
  }
  const cluster = await openKubeconfig(options.cluster)
  return { fetch: orBadGateway(cluster.fetch, complain), cluster }
}

const complain = (why: string): void => {
  process.stderr.write(`mintonce: the Kubernetes API did not answer: ${why}\n`)
}
