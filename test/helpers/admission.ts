import { randomBytes, randomUUID } from 'node:crypto'
import { createAdmissionApp } from '../../src/admission-app.ts'
import { readConfig } from '../../src/config.ts'
import type { Fetch } from '../../src/core/deps.ts'
import { getOver } from '../../src/core/http-fetch.ts'
import type { Json } from '../../src/core/json.ts'
import { type Metrics, noMetrics, type RequestLabels } from '../../src/core/metrics.ts'
import type { AdmissionServices } from '../../src/credentials/admit-served.ts'
import type { Review, Verdict } from '../../src/credentials/verdict.ts'
import { createDefinitionLookup } from '../../src/definitions/lookup.ts'
import { createKube } from '../../src/k8s/adapter.ts'
import type { HelmRelease, StoredSecret } from '../../src/k8s/objects.ts'
import { sendOver } from '../../src/k8s/send.ts'
import { exampleTenant, TENANT } from '../../src/sandbox/example.ts'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import { createServices } from '../../src/services.ts'
import { callApp } from './call-app.ts'
import { NOW } from './orders.ts'

const HELM = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${TENANT}/helmreleases`
const SECRETS = `/api/v1/namespaces/${TENANT}/secrets`

/** The example tenant in memory, as admission sees it. */
export interface Cluster {
  readonly services: AdmissionServices
  /** The way to its Kubernetes API that they go. */
  readonly fetch: Fetch
  /** Writes to Secrets that were not dry, `POST name` for example, refused ones too. */
  readonly writes: () => readonly string[]
  readonly logged: readonly string[]
  readonly send: (method: string, path: string, body?: object) => Promise<Response>
  readonly secret: (name: string) => Promise<StoredSecret | undefined>
  readonly putSecret: (secret: object) => Promise<unknown>
  readonly release: (name: string) => Promise<HelmRelease>
  readonly store: (release: HelmRelease) => Promise<HelmRelease>
  readonly setBlock: (definition: string, change: object) => Promise<unknown>
  /** From here on every call of this method to a path of this form is answered so. */
  readonly breaks: (method: string, path: RegExp, code?: number) => void
  readonly collect: () => void
}

export function startCluster(): Cluster {
  const sandbox = createSandbox({
    manifests: exampleTenant(),
    now: () => NOW,
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
  })
  const writes: string[] = []
  const logged: string[] = []
  const broken: { readonly method: string; readonly path: RegExp; readonly code: number }[] = []
  const fetch: Fetch = async (request) => {
    const { pathname, searchParams } = new URL(request.url)
    if (request.method !== 'GET' && pathname.includes('/secrets') && !searchParams.has('dryRun')) {
      writes.push(`${request.method} ${pathname.split('/').at(-1)}`)
    }
    const fault = broken.find(({ method, path }) => method === request.method && path.test(pathname))
    return fault === undefined
      ? sandbox.admin(request)
      : new Response(JSON.stringify({ kind: 'Status', message: 'broken' }), { status: fault.code })
  }
  const now = () => NOW
  const kube = createKube({
    send: sendOver(fetch),
    timeoutMs: 5000,
    reportingInstance: 'test',
    now,
    metrics: noMetrics,
  })
  const send = (method: string, path: string, body?: object) =>
    sandbox.admin(
      new Request(`https://kubernetes.default.svc${path}`, {
        method,
        ...(body && { body: JSON.stringify(body), headers: { 'content-type': typeOf(method) } }),
      }),
    )
  const must = async (method: string, path: string, body?: object) => {
    const answer = await send(method, path, body)
    if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`)
    return answer.json()
  }
  return {
    services: {
      kube,
      definitions: createDefinitionLookup({ kube, now, maxAgeMs: 0, timeoutMs: 5000 }),
      deps: {
        now,
        randomBytes: (length) => new Uint8Array(randomBytes(length)),
        log: (level, event, fields) => logged.push(JSON.stringify({ level, event, ...fields })),
      },
    },
    fetch,
    writes: () => writes,
    logged,
    send,
    secret: async (name) => {
      const answer = await send('GET', `${SECRETS}/${name}`)
      return answer.ok ? ((await answer.json()) as StoredSecret) : undefined
    },
    putSecret: (secret) => must('POST', SECRETS, secret),
    release: (name) => must('GET', `${HELM}/${name}`) as Promise<HelmRelease>,
    store: ({ metadata: { uid: _, ...metadata }, ...rest }) =>
      must('POST', HELM, { ...VERSIONED, ...rest, metadata }) as Promise<HelmRelease>,
    setBlock: (definition, credentials) =>
      must('PATCH', `/apis/cozystack.io/v1alpha1/applicationdefinitions/${definition}`, {
        spec: { credentials },
      }),
    breaks: (method, path, code = 500) => broken.push({ method, path, code }),
    collect: sandbox.collect,
  }
}

const typeOf = (method: string) => (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json')

const VERSIONED = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' }

/** As the platform writes one, with a UID of its own. */
export function newRelease(kind: string, name: string, values: unknown, spec: object = {}): HelmRelease {
  const singular = kind.toLowerCase()
  return {
    metadata: {
      name: `${singular}-${name}`,
      namespace: TENANT,
      uid: randomUUID(),
      labels: {
        'apps.cozystack.io/application.group': 'apps.cozystack.io',
        'apps.cozystack.io/application.kind': kind,
        'apps.cozystack.io/application.name': name,
      },
    },
    spec: {
      interval: '5m',
      chartRef: { kind: 'ExternalArtifact', name: `cozystack-${singular}`, namespace: 'cozy-system' },
      valuesFrom: [{ kind: 'Secret', name: 'cozystack-values' }],
      values,
      ...spec,
    },
  }
}

const asked = { namespace: TENANT, dryRun: false, by: 'jane@example.org' } as const

export const createOf = (object: HelmRelease, change: Partial<Review> = {}): Review => ({
  ...asked,
  operation: 'CREATE',
  name: object.metadata.name,
  object,
  oldObject: undefined,
  ...change,
})

export const updateOf = (oldObject: HelmRelease, spec: object, change: Partial<Review> = {}): Review => ({
  ...asked,
  operation: 'UPDATE',
  name: oldObject.metadata.name,
  object: { ...oldObject, spec: { ...oldObject.spec, ...spec } },
  oldObject,
  ...change,
})

export const deleteOf = (oldObject: HelmRelease, change: Partial<Review> = {}): Review => ({
  ...asked,
  operation: 'DELETE',
  name: oldObject.metadata.name,
  object: undefined,
  oldObject,
  ...change,
})

/** What a refusal says; undefined for what is allowed. */
export function refusalIn(verdict: Verdict): readonly string[] | undefined {
  if (verdict.is === 'allowed') return undefined
  const { refusal } = verdict
  switch (refusal.is) {
    case 'invalid':
      return refusal.causes.map(({ field, message }) => `${field}: ${message}`)
    case 'raced':
      return [refusal.message]
    case 'forbidden':
      return refusal.messages
    case 'failed':
      return [`${refusal.what}: ${refusal.failure.reason}`]
  }
}

/** The webhooks over it, with the settings that are in force where nothing is set. */
export async function admissionAppOf({ services, fetch }: Cluster): Promise<AdmissionApp> {
  const after: Promise<unknown>[] = []
  const counted: RequestLabels[] = []
  const metrics: Metrics = { ...noMetrics, request: (labels) => counted.push(labels) }
  const config = { ...(await readConfig({})), definitionsMaxAgeMs: 0 }
  const runtime = {
    deps: { ...services.deps, metrics },
    kube: sendOver(fetch),
    getFor: () => getOver(fetch),
    instance: 'test',
  }
  const app = createAdmissionApp(createServices(config, runtime))
  return {
    call: (path, init) =>
      callApp(app, new Request(`https://mintonce.test${path}`, init), {
        afterResponse: (work) => after.push(work()),
      }),
    counted,
    afterwards: () => Promise.all(after),
  }
}

interface AdmissionApp {
  readonly call: (path: string, init?: RequestInit) => Promise<Response>
  readonly counted: readonly RequestLabels[]
  readonly afterwards: () => Promise<unknown>
}

const KIND = { group: 'helm.toolkit.fluxcd.io', version: 'v2' } as const

/** As kube-apiserver sends it (`k8s.io/api/admission/v1`). */
export function wireOf({ operation, namespace, name, object, oldObject, dryRun, by }: Review): Json {
  const whole = (release: HelmRelease | undefined) =>
    release === undefined ? null : { apiVersion: `${KIND.group}/v2`, kind: 'HelmRelease', ...release }
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid: randomUUID(),
      kind: { ...KIND, kind: 'HelmRelease' },
      resource: { ...KIND, resource: 'helmreleases' },
      requestKind: { ...KIND, kind: 'HelmRelease' },
      requestResource: { ...KIND, resource: 'helmreleases' },
      name,
      namespace,
      operation,
      userInfo: { username: by, groups: ['system:authenticated'] },
      object: whole(object),
      oldObject: whole(oldObject),
      dryRun,
      options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
    },
  }
}
