import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inClusterSend } from '../../../src/k8s/node-in-cluster.ts'
import { type ControlPlane, startControlPlane } from '../../control-plane/start.ts'
import { fetchOver } from '../../helpers/fetch-over.ts'
import { type ApiServer, FUNCTION } from './api-server.ts'
import { formatDefinitions } from './format-definitions.ts'
import { exampleDefinitions, shippedRoles } from './manifests.ts'

const CRD_PATCH = join(
  import.meta.dirname,
  '../../../deploy/crd/applicationdefinition-credentials.patch.yaml',
)

export interface RealApiServer extends ApiServer {
  readonly plane: ControlPlane
}

/** A real control plane, installed as the documentation says. */
export async function startRealApiServer(
  options: Parameters<typeof startControlPlane>[0] = {},
): Promise<RealApiServer> {
  const plane = await startControlPlane(options)
  await install(plane)
  const tokenFile = join(plane.folder, 'function.token')
  await writeFile(tokenFile, await plane.tokenOf(FUNCTION.namespace, FUNCTION.name))
  const send = inClusterSend({ url: plane.url, caFile: plane.caFile, tokenFile, now: () => Date.now() })
  return {
    plane,
    admin: plane.adminFetch,
    asFunction: fetchOver(send),
    forProcess: async () => ({ url: plane.url, caFile: plane.caFile, tokenFile }),
    tokenOf: (namespace, name) => plane.tokenOf(namespace, name, ['mintonce']),
    // The write-ahead log: what was written once and is gone counts too.
    stored: async () => `${await plane.etcdDump()}${await plane.etcdLog()}`,
    stop: plane.stop,
  }
}

async function install(plane: ControlPlane): Promise<void> {
  await patchDefinition(plane)
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: FUNCTION.namespace } }
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: FUNCTION }
  await plane.apply([namespace, account, ...(await shippedRoles())])
  await applyWhenServed(plane, [...exampleDefinitions(), ...formatDefinitions()])
}

async function patchDefinition(plane: ControlPlane): Promise<void> {
  const patch = await readFile(CRD_PATCH, 'utf8')
  const crd = 'applicationdefinitions.cozystack.io'
  const { code, stderr } = await plane.kubectl(['patch', 'crd', crd, '--type=json', '-p', patch])
  if (code !== 0) throw new Error(`kubectl patch crd: ${stderr}`)
}

/** A changed schema is served a moment after it was stored. */
async function applyWhenServed(plane: ControlPlane, objects: readonly object[], tries = 20): Promise<void> {
  try {
    await plane.apply(objects)
  } catch (error) {
    if (tries === 0) throw error
    await new Promise((resolve) => setTimeout(resolve, 250))
    await applyWhenServed(plane, objects, tries - 1)
  }
}
