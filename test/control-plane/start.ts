import { rmSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Binaries, buildControlPlane } from './build.ts'
import { removeAbandoned } from './cache.ts'
import { type Certificates, createCertificates } from './certificates.ts'
import { writeKubeconfig } from './client.ts'
import { type ControlPlane, connect } from './control-plane.ts'
import { type Daemon, onProcessEnd, startDaemon } from './daemon.ts'
import { definitionsAreServed } from './established.ts'
import { freePorts } from './ports.ts'
import { AUDIT_POLICY, apiServerFlags, controllerManagerFlags, etcdFlags, type Ports } from './settings.ts'

export type { ControlPlane } from './control-plane.ts'

interface StartOptions {
  /** Added to those of kube-apiserver, and stronger. */
  readonly apiServerFlags?: readonly string[]
}

/** The platform's own. */
const PLATFORM_CRDS = ['crd-applicationdefinition.yaml', 'crd-tenantprojection.yaml'].map((name) =>
  join(import.meta.dirname, name),
)
const FOLDER_PREFIX = 'mintonce-control-plane.'
const READY_TIMEOUT_MS = 60_000
const POLL_MS = 50

/** etcd, kube-apiserver and kube-controller-manager on loopback, with the definitions of Flux and the platform. */
export async function startControlPlane(options: StartOptions = {}): Promise<ControlPlane> {
  const binaries = await buildControlPlane()
  await removeAbandoned(tmpdir(), FOLDER_PREFIX)
  const folder = await mkdtemp(join(tmpdir(), `${FOLDER_PREFIX}${process.pid}.`))
  const daemons: Daemon[] = []
  const closers: (() => void)[] = []
  const forget = onProcessEnd(() => {
    for (const { kill } of daemons) kill()
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  })

  async function stop(): Promise<void> {
    for (const close of closers) close()
    await Promise.all(daemons.map((daemon) => daemon.end()))
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    forget()
  }

  try {
    const [etcd = 0, etcdPeer = 0, apiServer = 0] = await freePorts(3)
    const ports = { etcd, etcdPeer, apiServer }
    const certificates = await createCertificates(folder)
    const { close, ...connected } = await connect(folder, binaries, certificates, ports)
    closers.push(close)
    await startParts(connected, certificates, ports, daemons, options)
    return { ...connected, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startParts(
  plane: Omit<ControlPlane, 'stop'>,
  certificates: Certificates,
  ports: Ports,
  daemons: Daemon[],
  options: StartOptions,
): Promise<void> {
  const { folder, binaries, adminFetch, url } = plane
  const start = async (name: string, program: string, flags: readonly string[]) => {
    daemons.push(await startDaemon(name, program, flags, join(folder, `${name}.log`)))
  }
  const answers = (path: string) => async () => (await adminFetch(new Request(`${url}${path}`))).ok

  await writeFile(join(folder, 'audit-policy.json'), JSON.stringify(AUDIT_POLICY))
  await start('etcd', binaries.etcd, etcdFlags(folder, ports))
  const flags = [...apiServerFlags(folder, ports, certificates), ...(options.apiServerFlags ?? [])]
  await start('kube-apiserver', binaries.kubeApiserver, flags)
  await until('kube-apiserver is ready', answers('/readyz'), daemons)

  // The garbage collector looks for new kinds when it starts, and then every 30 s only.
  await applyDefinitions(plane, binaries)

  const file = join(folder, 'controller-manager.kubeconfig')
  const kubeconfig = await writeKubeconfig(file, url, plane.caFile, certificates.controllerManager)
  const managerFlags = controllerManagerFlags(kubeconfig, certificates)
  await start('kube-controller-manager', binaries.kubeControllerManager, managerFlags)
  const firstWork = answers('/api/v1/namespaces/default/serviceaccounts/default')
  await until('kube-controller-manager works', firstWork, daemons)
}

async function applyDefinitions(
  { apply, kubectl }: Omit<ControlPlane, 'stop'>,
  binaries: Binaries,
): Promise<void> {
  const files = [binaries.helmReleaseCrd, ...PLATFORM_CRDS]
  const manifests = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  await apply(manifests.join('\n---\n'))
  await definitionsAreServed({ kubectl })
}

async function until(what: string, check: () => Promise<boolean>, daemons: readonly Daemon[]): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS
  for (;;) {
    if (await check().catch(() => false)) return
    for (const { name, isRunning, lastLines } of daemons) {
      if (!isRunning()) throw new Error(`${name} ended before ${what}:\n${await lastLines()}`)
    }
    if (performance.now() > deadline) {
      const logs = await Promise.all(
        daemons.map(async ({ name, lastLines }) => `${name}:\n${await lastLines()}`),
      )
      throw new Error(`not after ${READY_TIMEOUT_MS / 1000} s: ${what}\n${logs.join('\n')}`)
    }
    await sleep(POLL_MS)
  }
}
