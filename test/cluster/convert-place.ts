import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { inTurns } from '../../src/core/in-turns.ts'
import { ROOT } from '../cli/command.ts'
import { type RealApiServer, startRealApiServer } from '../contract/backends/real-api-server.ts'
import { type Admin, type Anything, adminOf } from '../contract/kube.ts'
import { onProcessEnd } from '../control-plane/daemon.ts'
import type { ControlPlane } from '../control-plane/start.ts'
import { type FleetRelease, fleetNamespaces } from './convert-fleet.ts'
import { OLD, releasePath, rolePath, secretPath, statusOf } from './convert-flux.ts'
import { type Kubelet, NODE, nativeHash, startKubelet } from './convert-kubelet.ts'
import { eventually } from './eventually.ts'
import { build } from './shipped.ts'

const PLATFORM = 'mintonce'
const AT_ONCE = 16

/** A cluster with a fleet from before, and the conversion installed as it is shipped. */
export interface ConvertPlace {
  readonly api: RealApiServer
  readonly admin: Admin
  readonly kubelet: Kubelet
  /** A part of the conversion as its Job runs it: with the account and the command of its container. `url`: another way to the API server. */
  readonly start: (part: 'hook' | 'job', more?: readonly string[], url?: string) => Promise<Run>
  readonly stop: () => Promise<void>
}

/** A process of the command line. */
export interface Run {
  readonly output: () => string
  readonly kill: () => void
  /** Its exit code; null when it was killed. */
  readonly ended: Promise<number | null>
}

export async function convertPlace(fleet: readonly FleetRelease[]): Promise<ConvertPlace> {
  const api = await startRealApiServer()
  const { plane } = api
  const admin = adminOf(plane.adminFetch)
  const kubelet = await startKubelet(plane)
  for (const folder of ['deploy/base', 'deploy/convert/hook', 'deploy/convert/job']) {
    await plane.apply(await build(folder, plane))
  }
  const { status, ...node } = kubelet.node as Anything
  await admin.create('/api/v1/nodes', node)
  await admin.change(`/api/v1/nodes/${NODE}/status`, (each) => void Object.assign(each, { status }))
  for (const name of fleetNamespaces) {
    await admin.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  }
  await eventually('namespaces have their ServiceAccount', async () => {
    const found = fleetNamespaces.map((name) =>
      admin.find(`/api/v1/namespaces/${name}/serviceaccounts/default`),
    )
    return (await Promise.all(found)).every((each) => each !== undefined)
  })
  await inTurns(fleet, AT_ONCE, (each) => install(admin, kubelet, each))
  return {
    api,
    admin,
    kubelet,
    start: (part, more, url) => startPart(plane, part, more, url),
    stop: async () => {
      await kubelet.stop()
      await plane.stop()
    },
  }
}

/** A release as Flux and the chart from before have left it. */
async function install(admin: Admin, kubelet: Kubelet, of: FleetRelease): Promise<void> {
  const { namespace, name, kind, object, oddity } = of
  await admin.create(`/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases`, object)
  if (oddity !== 'never deployed' && oddity !== 'seeded before') {
    await admin.change(`${releasePath(of)}/status`, (each) => {
      each.status = { ...statusOf(of, OLD, 1), observedGeneration: each.metadata.generation }
    })
  }
  if (oddity !== 'no Secret' && oddity !== 'seeded before') await putCredentials(admin, of)
  if (oddity === 'a foreign Secret')
    await admin.create(parentOf(secretPath(of)), foreign(`${name}.web.account`))
  await admin.create(parentOf(rolePath(of)), {
    metadata: { name: `${name}-dashboard-resources` },
    rules: [
      {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: [`${name}-credentials`],
        verbs: ['get', 'list', 'watch'],
      },
    ],
  })
  if (kind !== 'MariaDB') return
  kubelet.engines.set(`${namespace}/${name}-0`, { rootHash: nativeHash(of.platform.root ?? ''), changes: 0 })
  if (oddity === 'no pod') return
  const set = await admin.create(`/apis/apps/v1/namespaces/${namespace}/statefulsets`, statefulSetOf(name))
  await admin.create(`/api/v1/namespaces/${namespace}/pods`, podOf(name, set.metadata.uid))
}

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'))

/** `<release>-credentials`, in which tenants can read everything. */
export const putCredentials = (admin: Admin, of: FleetRelease): Promise<unknown> =>
  admin.create(parentOf(secretPath(of)), {
    metadata: {
      name: `${of.name}-credentials`,
      labels: { 'internal.cozystack.io/tenantresource': 'true' },
    },
    stringData: {
      ...of.tenants,
      ...of.platform,
      ...(of.oddity === 'an empty key' && { report: '' }),
    },
  })

const foreign = (name: string) => ({ metadata: { name }, stringData: { somebody: 'else’s' } })

const labelsOf = (release: string) => ({
  'app.kubernetes.io/name': 'mariadb',
  'app.kubernetes.io/instance': release,
})

const statefulSetOf = (name: string) => ({
  metadata: { name },
  spec: {
    serviceName: name,
    selector: { matchLabels: labelsOf(name) },
    template: {
      metadata: { labels: labelsOf(name) },
      spec: { containers: [{ name: 'mariadb', image: 'mariadb' }] },
    },
  },
})

const podOf = (release: string, uid: string) => ({
  metadata: {
    name: `${release}-0`,
    labels: { ...labelsOf(release), 'k8s.mariadb.com/role': 'primary' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: release, uid, controller: true }],
  },
  spec: { nodeName: NODE, containers: [{ name: 'mariadb', image: 'mariadb' }] },
})

/** For the kubelet of the function's node: the container of a Job, as its account, on this machine. */
export async function startPart(
  plane: ControlPlane,
  part: 'hook' | 'job',
  more: readonly string[] = [],
  url = plane.url,
): Promise<Run> {
  const { stdout } = await plane.kubectl([
    'get',
    `job/mintonce-convert-${part}`,
    '-n',
    PLATFORM,
    '-o',
    'json',
  ])
  const { serviceAccountName, containers } = JSON.parse(stdout).spec.template.spec
  const [{ command, env }] = containers
  const definitions = await mountedIn(plane.folder)
  const tokenFile = join(plane.folder, `${part}.token`)
  await writeFile(tokenFile, await plane.tokenOf(PLATFORM, serviceAccountName))
  const args: readonly string[] = command
    .slice(2)
    .map((arg: string) => arg.replace('/etc/mintonce/definitions/definitions.yaml', definitions))
  const child = spawn(process.execPath, [join(ROOT, 'src/cli.ts'), ...args, ...more], {
    env: {
      PATH: process.env.PATH ?? '',
      ...Object.fromEntries(env.map(({ name, value }: Anything) => [name, value])),
      MINTONCE_KUBE_URL: url,
      MINTONCE_KUBE_CA_FILE: plane.caFile,
      MINTONCE_KUBE_TOKEN_FILE: tokenFile,
    },
  })
  const forget = onProcessEnd(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  }
  return {
    output: () => output,
    kill: () => child.kill('SIGKILL'),
    ended: once(child, 'close').then(([code]) => {
      forget()
      return code
    }),
  }
}

/** The ConfigMap that is mounted. */
async function mountedIn(folder: string): Promise<string> {
  const file = join(folder, 'definitions.yaml')
  const configMap = parse(await readFile(join(ROOT, 'deploy/convert/common/definitions.yaml'), 'utf8'))
  await writeFile(file, configMap.data['definitions.yaml'])
  return file
}
