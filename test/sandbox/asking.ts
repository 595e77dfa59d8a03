import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Fetch } from '../../src/core/deps.ts'
import type { Served } from './kube-api.ts'

/** What came back, as a test looks at it. */
export interface Answer {
  readonly status: number
  readonly type: string
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on what came, field by field
  readonly body: any
}

interface More {
  readonly contentType?: string
}

export type Ask = (method: string, path: string, body?: unknown, more?: More) => Promise<Answer>

export const asking =
  (fetch: Fetch): Ask =>
  async (method, path, body, { contentType = 'application/json' } = {}) => {
    const response = await fetch(
      new Request(`https://kubernetes.default.svc${path}`, {
        method,
        headers: {
          Accept: 'application/json',
          ...(body === undefined ? {} : { 'Content-Type': contentType }),
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    )
    const text = await response.text()
    const type = response.headers.get('content-type') ?? ''
    return {
      status: response.status,
      type,
      text,
      body: type.includes('json') && text ? JSON.parse(text) : undefined,
    }
  }

/** A namespace of a test's own. */
export interface Place {
  readonly namespace: string
  readonly ask: Ask
  readonly as: (username: string) => Ask
  readonly secrets: string
  readonly releases: string
  readonly create: (path: string, object: object) => Promise<Answer['body']>
}

export const MERGE_PATCH = { contentType: 'application/merge-patch+json' } as const
export const RBAC = '/apis/rbac.authorization.k8s.io/v1'

let places = 0

export async function newPlace({ api }: Served): Promise<Place> {
  places += 1
  const namespace = `place-${places}-${Math.random().toString(36).slice(2, 8)}`
  const ask = asking(api().admin)
  const create = async (path: string, object: object) => {
    const { status, text, body } = await ask('POST', path, object)
    expect(`${status} ${status === 201 ? '' : text}`).toBe('201 ')
    return body
  }
  await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  return {
    namespace,
    ask,
    as: (username) => asking(api().as(username)),
    secrets: `/api/v1/namespaces/${namespace}/secrets`,
    releases: `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases`,
    create,
  }
}

export const encode = (text: string): string => Buffer.from(text).toString('base64')

export const secretOf = (
  name: string,
  { metadata, ...more }: { readonly metadata?: object; readonly [field: string]: unknown } = {},
) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'kubernetes.io/basic-auth',
  data: { username: encode('web'), password: encode('x') },
  ...more,
  metadata: { name, ...metadata },
})

export const releaseOf = (
  name: string,
  { metadata, ...more }: { readonly metadata?: object; readonly [field: string]: unknown } = {},
) => ({
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  spec: { interval: '5m', chartRef: { kind: 'OCIRepository', name: 'x' }, values: { users: { web: {} } } },
  ...more,
  metadata: { name, ...metadata },
})

/** The parts of a Status that clients go by. */
export const statusOf = ({ body }: Answer) => ({
  code: body.code,
  reason: body.reason,
  message: body.message,
  details: body.details,
})

/** Controllers take a moment: asks again until the answer is as wanted. */
export async function eventually(check: () => Promise<void>, tries = 100): Promise<void> {
  try {
    await check()
  } catch (error) {
    if (tries <= 1) throw error
    await sleep(150)
    await eventually(check, tries - 1)
  }
}
