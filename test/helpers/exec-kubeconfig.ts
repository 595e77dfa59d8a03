import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ControlPlane } from '../control-plane/start.ts'

/**
 * A kubeconfig whose token comes from a program, as cloud providers have it: that of the ServiceAccount default/operator,
 * which gets the function's rights.
 */
export async function execKubeconfig(plane: ControlPlane): Promise<string> {
  await plane.apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'operator', namespace: 'default' } },
    bindingOf({ kind: 'ServiceAccount', name: 'operator', namespace: 'default' }),
  ])
  const status = { token: await plane.tokenOf('default', 'operator') }
  const credential = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status }
  const program = join(plane.folder, 'credential-plugin')
  await writeFile(program, `#!/bin/sh\ncat <<'EOT'\n${JSON.stringify(credential)}\nEOT\n`)
  await chmod(program, 0o700)
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: program,
    interactiveMode: 'Never',
  }
  const file = join(plane.folder, 'exec.kubeconfig')
  const kubeconfig = JSON.parse(await readFile(plane.kubeconfig, 'utf8'))
  kubeconfig.users[0].user = { exec }
  await writeFile(file, JSON.stringify(kubeconfig))
  return file
}

/** Gives somebody the rights that the function has in a cluster. */
export const bindingOf = (subject: {
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: subject.name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'mintonce' },
  subjects: [subject],
})
