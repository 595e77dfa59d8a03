import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { readConfig } from '../../src/config.ts'

const FOLDER = join(import.meta.dirname, '../../deploy/apiserver')

interface Named {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly annotations?: Readonly<Record<string, string>>
  }
}

interface Deployment extends Named {
  readonly spec: {
    readonly replicas: number
    readonly strategy: object
    readonly selector: { readonly matchLabels: object }
    readonly template: {
      readonly metadata: { readonly labels: object }
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly containers: readonly [Container]
        readonly volumes: readonly [
          { readonly name: string; readonly secret: { readonly secretName: string } },
        ]
      }
    }
  }
}

interface Container {
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly volumeMounts: readonly [{ readonly name: string; readonly mountPath: string }]
  readonly readinessProbe: { readonly timeoutSeconds: number }
}

interface ApiService extends Named {
  readonly spec: {
    readonly group: string
    readonly version: string
    readonly insecureSkipTLSVerify?: boolean
    readonly service: { readonly namespace: string; readonly name: string; readonly port: number }
  }
}

interface Service extends Named {
  readonly spec: { readonly selector: object; readonly ports: readonly { readonly port: number }[] }
}

interface WebhookConfiguration extends Named {
  readonly webhooks: readonly {
    readonly timeoutSeconds: number
    readonly clientConfig: {
      readonly service: {
        readonly namespace: string
        readonly name: string
        readonly port: number
        readonly path: string
      }
    }
  }[]
}

interface Certificate extends Named {
  readonly spec: {
    readonly secretName: string
    readonly dnsNames?: readonly string[]
    readonly issuerRef: { readonly name: string }
  }
}

async function objects<T extends Named>(file: string): Promise<readonly T[]> {
  return parseAllDocuments(await readFile(join(FOLDER, file), 'utf8')).map((document) => document.toJS())
}

const [deployment] = (await objects('deployment.yaml')) as readonly [Deployment]
const [apiService] = (await objects('api-service.yaml')) as readonly [ApiService]
const services = await objects<Service>('services.yaml')
const certificates = await objects<Certificate>('certificates.yaml')
const pod = deployment.spec.template.spec
const [container] = pod.containers
const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value]))
const named = <T extends Named>(all: readonly T[], kind: string, name: string): T | undefined =>
  all.find((each) => each.kind === kind && each.metadata.name === name)

test('what the Deployment sets are settings that the function knows', async () => {
  const { tls, ...settings } = await readConfig(env)
  const [mount] = container.volumeMounts
  expect(tls).toEqual({ certFile: `${mount.mountPath}/tls.crt`, keyFile: `${mount.mountPath}/tls.key` })
  expect(settings).toMatchObject({ frontProxy: true, group: apiService.spec.group, audiences: ['mintonce'] })
})

test('the ports of the container are those that the function listens on', async () => {
  const { port, admission, metricsPort } = await readConfig(env)
  expect(container.ports).toEqual([
    { name: 'https', containerPort: port },
    { name: 'admission', containerPort: admission?.port },
    { name: 'metrics', containerPort: metricsPort },
  ])
})

test('the kubelet waits for longer than the process does at its end', async () => {
  const { drainMs, deadlineMs } = await readConfig(env)
  const [, afterwards = ''] =
    /drainMs \+ deadlineMs \+ (\d+)/.exec(await readFile(join(FOLDER, '../../src/node.ts'), 'utf8')) ?? []
  expect(Number(afterwards)).toBeGreaterThan(0)
  const endMs = drainMs + deadlineMs + Number(afterwards)
  expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(endMs)
})

test('readiness waits for as long as a call to the Kubernetes API may take', async () => {
  const { kubeTimeoutMs } = await readConfig(env)
  expect(container.readinessProbe.timeoutSeconds * 1000).toBeGreaterThan(kubeTimeoutMs)
})

test('there is always one that answers: kube-apiserver and namespace deletion depend on it', () => {
  expect(deployment.spec).toMatchObject({
    replicas: 2,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0 } },
  })
})

test('kube-apiserver finds the pods, and a certificate for the name that it calls', () => {
  const { group, version, service, insecureSkipTLSVerify } = apiService.spec
  expect(apiService.metadata.name).toBe(`${version}.${group}`)
  expect(insecureSkipTLSVerify).toBeUndefined()
  const called = named(services, 'Service', service.name)
  expect(called?.metadata.namespace).toBe(service.namespace)
  expect(called?.spec.ports.map(({ port }) => port)).toEqual([service.port])
  expect(called?.spec.selector).toEqual(deployment.spec.template.metadata.labels)
  expect(deployment.spec.selector.matchLabels).toEqual(deployment.spec.template.metadata.labels)

  const annotation = apiService.metadata.annotations?.['cert-manager.io/inject-ca-from'] ?? ''
  const [namespace, name = ''] = annotation.split('/')
  const certificate = named(certificates, 'Certificate', name)
  expect(certificate?.metadata.namespace).toBe(namespace)
  expect(certificate?.spec.dnsNames).toContain(`${service.name}.${service.namespace}.svc`)
  expect(pod.volumes[0].secret.secretName).toBe(certificate?.spec.secretName)
})

test('kube-apiserver finds the webhooks, by a name of the same certificate', async () => {
  const certificate = named(certificates, 'Certificate', 'mintonce-apiserver')
  for (const { metadata, webhooks } of await objects<WebhookConfiguration>('webhooks.yaml')) {
    expect(metadata.annotations?.['cert-manager.io/inject-ca-from']).toBe('mintonce/mintonce-apiserver')
    for (const { clientConfig, timeoutSeconds } of webhooks) {
      const { namespace, name, port, path } = clientConfig.service
      const called = named(services, 'Service', name)
      expect(called?.metadata.namespace).toBe(namespace)
      expect(called?.spec).toMatchObject({ ports: [{ port, targetPort: 'admission' }] })
      expect(called?.spec.selector).toEqual(deployment.spec.template.metadata.labels)
      expect(certificate?.spec.dnsNames).toContain(`${name}.${namespace}.svc`)
      expect(path).toMatch(/^\/admission\/(validate|mutate)$/)
      const handler = await readFile(join(FOLDER, '../../src/handlers/admission.ts'), 'utf8')
      const [, deadlineMs] = /DEADLINE_MS = (\d+)/.exec(handler) ?? []
      expect(timeoutSeconds * 1000).toBeGreaterThan(Number(deadlineMs))
    }
  }
})

test('the serving certificate is signed by a CA whose key stays when it is renewed', () => {
  const issuer = (name = '') => named(certificates, 'Issuer', name)
  const serving = named(certificates, 'Certificate', 'mintonce-apiserver')
  const authority = named(certificates, 'Certificate', 'mintonce-apiserver-ca')
  expect(issuer(serving?.spec.issuerRef.name)).toMatchObject({
    spec: { ca: { secretName: authority?.spec.secretName } },
  })
  expect(issuer(authority?.spec.issuerRef.name)).toMatchObject({ spec: { selfSigned: {} } })
  expect(authority?.spec).toMatchObject({ isCA: true, privateKey: { rotationPolicy: 'Never' } })
})

test('the Services are not those that Knative makes for a Knative Service beside them', async () => {
  const knative = await readFile(join(FOLDER, '../../knative/service.yaml'), 'utf8')
  const [, name] = /^ {2}name: (.*)$/m.exec(knative) ?? []
  expect(name).toBeDefined()
  expect(services.map(({ metadata }) => metadata.name)).not.toContain(name)
})
