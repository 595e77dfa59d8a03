import { FUNCTION } from '../contract/backends/api-server.ts'
import type { ControlPlane } from '../control-plane/start.ts'

const VERSION = 'v1alpha1'

/** What the serving certificate of an aggregated API server must name. */
export const SERVICE_HOST = `${FUNCTION.name}.${FUNCTION.namespace}.svc`

/**
 * Makes kube-apiserver send the group to a port of this machine, over TLS that the control plane's own authority vouches
 * for, and waits until it does. There is no cluster network: the Service is a name for localhost. Throws what kubectl
 * complains about, with the condition that the APIService is in.
 */
export async function registerApiService(
  plane: ControlPlane,
  port: number,
  group: string,
  service: { readonly namespace: string; readonly name: string } = FUNCTION,
): Promise<void> {
  const apiService = `${VERSION}.${group}`
  await plane.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: service.namespace } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: service,
      spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] },
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: apiService },
      spec: {
        group,
        version: VERSION,
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        caBundle: Buffer.from(plane.ca).toString('base64'),
        service: { ...service, port },
      },
    },
  ])
  const wait = ['wait', '--for=condition=Available', '--timeout=60s', `apiservice/${apiService}`]
  const { code, stderr } = await plane.kubectl(wait)
  if (code === 0) return
  const conditions = ['get', 'apiservice', apiService, '-o', 'jsonpath={.status.conditions}']
  throw new Error(`${stderr.trim()} ${(await plane.kubectl(conditions)).stdout}`)
}
