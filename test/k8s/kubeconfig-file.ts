import { writeFile } from 'node:fs/promises'

interface Parts {
  readonly cluster: object
  readonly user?: object
  readonly context?: string
}

/** A kubeconfig, in JSON, which is YAML too. */
export async function kubeconfig(
  file: string,
  { cluster, user = {}, context = 'one' }: Parts,
): Promise<string> {
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': context,
    clusters: [{ name: `${context}-cluster`, cluster }],
    users: [{ name: `${context}-user`, user }],
    contexts: [{ name: context, context: { cluster: `${context}-cluster`, user: `${context}-user` } }],
  }
  await writeFile(file, JSON.stringify(content))
  return file
}
