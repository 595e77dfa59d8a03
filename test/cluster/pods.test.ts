import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ControlPlane, startControlPlane } from '../control-plane/start.ts'
import { build, type Manifest, objectsIn, shippedFolders } from './shipped.ts'

interface Probe {
  readonly httpGet: { readonly path: string; readonly port?: string | number; readonly scheme?: string }
  readonly timeoutSeconds?: number
  readonly periodSeconds?: number
  readonly failureThreshold?: number
}

interface Container {
  readonly name: string
  readonly ports?: readonly { readonly containerPort: number }[]
  readonly env?: readonly { readonly name: string; readonly value: string }[]
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly startupProbe?: Probe
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>
    readonly limits?: Readonly<Record<string, string>>
  }
  readonly securityContext?: object
}

interface PodSpec {
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly enableServiceLinks?: boolean
  readonly securityContext?: object
  readonly serviceAccountName?: string
}

interface Template {
  readonly owner: string
  readonly serves: boolean
  readonly namespace: string
  readonly spec: PodSpec
}

let plane: ControlPlane
let templates: readonly Template[]

beforeAll(async () => {
  plane = await startControlPlane()
  // A pod is accepted in a namespace that is there, for a ServiceAccount that is there.
  await plane.apply(await build('deploy/base', plane))
  const texts = await Promise.all((await shippedFolders()).map((folder) => build(folder, plane)))
  const objects = texts.flatMap(objectsIn)
  await plane.apply(objects.filter(({ kind }) => kind === 'ServiceAccount'))
  templates = objects.flatMap(templatesIn)
})

afterAll(() => plane?.stop())

test('the templates of all manifests are found', () => {
  const owners = templates.map(({ owner }) => owner)
  expect(owners).toContain('Deployment mintonce-apiserver')
  expect(owners).toContain('Service mintonce')
})

describe('every container that is shipped', () => {
  test('gives up what it does not need', () => {
    for (const { owner, spec } of templates) {
      for (const container of containersOf(spec)) {
        // The pod's own settings count where the container has none.
        expect({ ...spec.securityContext, ...container.securityContext }, owner).toMatchObject({
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
          readOnlyRootFilesystem: true,
          runAsNonRoot: true,
          runAsUser: 65_532,
          runAsGroup: 65_532,
          seccompProfile: { type: 'RuntimeDefault' },
        })
      }
    }
  })

  test('says what it needs, and has an end to its memory', () => {
    for (const { owner, spec } of templates) {
      for (const { resources } of containersOf(spec)) {
        expect(resources, owner).toMatchObject({
          requests: { cpu: expect.any(String), memory: expect.any(String) },
          limits: { memory: expect.any(String) },
        })
      }
    }
  })

  test('gets its settings from its manifest alone', () => {
    // A Service called mintonce-metrics would set MINTONCE_METRICS_PORT to tcp://10.0.0.1:9090 in every pod beside it.
    for (const { owner, spec } of templates) expect(spec.enableServiceLinks, owner).toBe(false)
  })

  test('that serves is probed over what it speaks', () => {
    for (const { owner, serves, spec } of templates) {
      if (!serves) continue
      for (const { env = [], livenessProbe, readinessProbe, startupProbe } of spec.containers) {
        const isTls = env.some(({ name }) => name === 'MINTONCE_TLS_CERT_FILE')
        const asks = (path: string) => ({ httpGet: { path, ...(isTls && { scheme: 'HTTPS' }) } })
        expect(livenessProbe, owner).toMatchObject(asks('/livez'))
        expect(readinessProbe, owner).toMatchObject(asks('/readyz'))
        if (startupProbe) expect(startupProbe, owner).toMatchObject(asks('/livez'))
        // One slow answer must not end a process in which passwords are on their way.
        expect(livenessProbe?.failureThreshold, owner).toBeGreaterThan(1)
        expect(livenessProbe?.timeoutSeconds, owner).toBeGreaterThan(1)
      }
    }
  })
})

describe('the admission of pods', () => {
  test('of the namespace is held to the profile "restricted"', async () => {
    const path = '{.metadata.labels.pod-security\\.kubernetes\\.io/enforce}'
    for (const namespace of new Set(templates.map((template) => template.namespace))) {
      const { stdout } = await plane.kubectl(['get', 'namespace', namespace, '-o', `jsonpath=${path}`])
      expect(stdout, namespace).toBe('restricted')
    }
  })

  test('accepts a pod of every template, without a warning', async () => {
    for (const template of templates) {
      const { code, stderr } = await dryRun(podOf(template))
      expect({ code, stderr }, template.owner).toEqual({ code: 0, stderr: '' })
    }
  })

  test('refuses the same pod with one right more', async () => {
    for (const template of templates) {
      const pod = podOf(template)
      const containers = pod.spec.containers.map((container) => ({
        ...container,
        securityContext: { ...container.securityContext, allowPrivilegeEscalation: true },
      }))
      const { code, stderr } = await dryRun({ ...pod, spec: { ...pod.spec, containers } })
      expect(code, template.owner).toBe(1)
      expect(stderr).toContain('violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false')
    }
  })
})

const containersOf = ({ containers, initContainers = [] }: PodSpec): readonly Container[] => [
  ...initContainers,
  ...containers,
]

/** Whatever the kind is: a template is where containers are. */
function templatesIn(manifest: Manifest): readonly Template[] {
  const owner = `${manifest.kind} ${manifest.metadata.name}`
  const serves = !['Job', 'CronJob', 'Pod'].includes(manifest.kind)
  const namespace = manifest.metadata.namespace ?? 'default'
  return specsIn(manifest.spec).map((spec) => ({ owner, serves, namespace, spec }))
}

function specsIn(value: unknown): readonly PodSpec[] {
  if (typeof value !== 'object' || value === null) return []
  if (isPodSpec(value)) return [value]
  return Object.values(value).flatMap(specsIn)
}

/** The schema of a definition has a property of that name, and no list there. */
const isPodSpec = (value: object): value is PodSpec =>
  'containers' in value && Array.isArray(value.containers)

const KNATIVE_FIELDS = [
  'containerConcurrency',
  'timeoutSeconds',
  'responseStartTimeoutSeconds',
  'idleTimeoutSeconds',
]

/** The pod that becomes of a template. Knative takes its own fields away and adds the port to the probes. */
function podOf({ namespace, spec }: Template) {
  const known = Object.entries(spec).filter(([field]) => !KNATIVE_FIELDS.includes(field))
  const containers = spec.containers.map((container) => {
    const port = container.ports?.[0]?.containerPort
    const probes = (['livenessProbe', 'readinessProbe', 'startupProbe'] as const).flatMap((name) => {
      const probe = container[name]
      return probe ? [[name, { ...probe, httpGet: { port, ...probe.httpGet } }]] : []
    })
    return { ...container, ...Object.fromEntries(probes) }
  })
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'tried', namespace },
    spec: { ...Object.fromEntries(known), containers },
  }
}

const dryRun = (pod: object) =>
  plane.kubectl(
    ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'],
    JSON.stringify(pod),
  )
