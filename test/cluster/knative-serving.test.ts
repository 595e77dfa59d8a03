import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Anything } from '../contract/kube.ts'
import { type ControlPlane, startControlPlane } from '../control-plane/start.ts'
import { eventually } from './eventually.ts'
import { startKnativeServing } from './knative-serving.ts'
import { queueProxyEnvironment, shippedRevision } from './queue-proxy-process.ts'
import { build, objectsIn } from './shipped.ts'

const APPLY = ['apply', '--server-side', '--validate=strict', '-f', '-']
const DRY_RUN = [...APPLY, '--dry-run=server']
const SERVICE = 'service.serving.knative.dev/mintonce'

let plane: ControlPlane
let knative: { readonly stop: () => Promise<void> }
let manifests: string

beforeAll(async () => {
  plane = await startControlPlane()
  knative = await startKnativeServing(plane)
  manifests = await build('knative', plane)
  // Nothing can be tried in a namespace that is not there.
  await plane.apply(objectsIn(manifests).filter(({ kind }) => kind === 'Namespace'))
})
afterAll(async () => {
  await knative?.stop()
  await plane?.stop()
})

const service = (): Anything =>
  objectsIn(manifests).find(({ apiVersion }) => apiVersion.startsWith('serving.knative.dev/'))

const stored = async (): Promise<Anything> => {
  const { stdout } = await plane.kubectl([
    'get',
    SERVICE,
    '-n',
    'mintonce',
    '-o',
    'json',
    '--ignore-not-found',
  ])
  return stdout === '' ? undefined : JSON.parse(stdout)
}

describe("Knative's webhook", () => {
  test('accepts what is shipped in a dry run, without a warning, and stores nothing', async () => {
    const { code, stdout, stderr } = await plane.kubectl(DRY_RUN, manifests)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`${SERVICE} serverside-applied (server dry run)\n`)
    expect(await stored()).toBeUndefined()
  })

  test.each([
    [
      'a negative concurrency',
      ({ spec }: Anything) => {
        spec.containerConcurrency = -1
      },
      'expected 0 <= -1 <= 1000: spec.template.spec.containerConcurrency',
    ],
    [
      'a timeout over the maximum',
      ({ spec }: Anything) => {
        spec.timeoutSeconds = 3600
      },
      'spec.template.spec.timeoutSeconds',
    ],
    [
      'a scale that is no number',
      ({ metadata }: Anything) => {
        metadata.annotations['autoscaling.knative.dev/max-scale'] = 'five'
      },
      'autoscaling.knative.dev/max-scale',
    ],
    [
      'a port name that is no protocol',
      ({ spec }: Anything) => {
        spec.containers[0].ports[0].name = 'http3'
      },
      'Port name http3 is not allowed',
    ],
  ])('refuses %s: it was asked', async (_name, breakIt, message) => {
    const broken = structuredClone(service())
    breakIt(broken.spec.template)
    const { code, stdout, stderr } = await plane.kubectl(DRY_RUN, JSON.stringify(broken))
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('admission webhook "validation.webhook.serving.knative.dev" denied the request')
    expect(stderr).toContain(message)
  })

  test('accepts it for real, keeps what it says and adds defaults', async () => {
    const { code, stderr } = await plane.kubectl(APPLY, manifests)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { metadata, spec } = await stored()
    expect(metadata.annotations).toMatchObject({ 'serving.knative.dev/creator': 'admin' })
    expect(spec.traffic).toEqual([{ latestRevision: true, percent: 100 }])

    const shipped = service().spec.template.spec
    const [container, ...others] = spec.template.spec.containers
    expect(others).toEqual([])
    const { readinessProbe, livenessProbe, ports, ...rest } = shipped.containers[0]
    expect(container).toMatchObject({ ...rest, readinessProbe: { ...readinessProbe, successThreshold: 1 } })
    expect(spec.template.spec).toMatchObject({
      containerConcurrency: shipped.containerConcurrency,
      timeoutSeconds: shipped.timeoutSeconds,
      enableServiceLinks: false,
    })
  })

  test('and makes no new revision of it when it is applied again', async () => {
    const before = (await stored()).metadata.generation
    const { code, stderr } = await plane.kubectl(APPLY, manifests)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect((await stored()).metadata.generation).toBe(before)
  })
})

describe("what Knative's controller makes of it", () => {
  let template: Anything

  beforeAll(async () => {
    await plane.kubectl(APPLY, manifests)
    const get = [
      'get',
      'deployment',
      'mintonce-00001-deployment',
      '-n',
      'mintonce',
      '-o',
      'json',
      '--ignore-not-found',
    ]
    await eventually('there is a Deployment', async () => {
      const { stdout } = await plane.kubectl(get)
      template = stdout === '' ? undefined : JSON.parse(stdout).spec.template
      return template !== undefined
    })
  })

  const podWith = (change: (spec: Anything) => void) => {
    const { metadata, spec } = structuredClone(template)
    change(spec)
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, name: 'tried', namespace: 'mintonce' },
      spec,
    })
  }
  const create = (pod: string) => plane.kubectl(['create', '--dry-run=server', '-f', '-'], pod)

  test("is a pod that its namespace lets in, Knative's sidecar included", async () => {
    expect(template.spec.containers).toHaveLength(2)
    const { code, stderr } = await create(podWith(() => undefined))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })

    const loose = podWith((spec) => {
      spec.containers[0].securityContext.allowPrivilegeEscalation = true
    })
    const { stderr: refusal } = await create(loose)
    expect(refusal).toContain('violates PodSecurity "restricted')
  })

  test('ends the function only after the queue-proxy has drained', () => {
    const [container] = template.spec.containers
    expect(container.lifecycle.preStop.httpGet).toMatchObject({ path: '/wait-for-drain', port: 8022 })
  })

  test('has a queue-proxy with the environment that the tests of the queue-proxy give theirs', async () => {
    const { env } = template.spec.containers.find(({ name }: Anything) => name === 'queue-proxy')
    const rendered = env.map(({ name, value = '', valueFrom }: Anything) => [name, valueFrom ?? value])
    const ports = { port: 8012, tlsPort: 8112, userPort: 8080 }
    const { SERVING_POD, SERVING_POD_IP, HOST_IP, ...ours } = queueProxyEnvironment(
      await shippedRevision(),
      ports,
    )
    expect(Object.fromEntries(rendered)).toMatchObject(ours)
  })
})
