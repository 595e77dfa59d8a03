import type { Fetch } from '../../src/core/deps.ts'

/** A Kubernetes object as a test looks at it. */
// biome-ignore lint/suspicious/noExplicitAny: tests assert on what came, field by field
export type Anything = any

/** The few calls that tests make as administrator. Every one throws on an answer that is no success. */
export interface Admin {
  readonly create: (path: string, object: object) => Promise<Anything>
  readonly get: (path: string) => Promise<Anything>
  /** Undefined when the object is not there. */
  readonly find: (path: string) => Promise<Anything>
  /** Reads, changes and writes back, again after a conflict. */
  readonly change: (path: string, change: (object: Anything) => void) => Promise<Anything>
  readonly remove: (path: string) => Promise<void>
}

const SERVER = 'https://kubernetes.default.svc'

export function adminOf(fetch: Fetch): Admin {
  async function send(method: string, path: string, body?: object): Promise<Response> {
    return fetch(
      new Request(`${SERVER}${path}`, {
        method,
        headers: { 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
  }
  async function done(method: string, path: string, body?: object): Promise<Anything> {
    const response = await send(method, path, body)
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }
  const find = async (path: string) => {
    const response = await send('GET', path)
    if (response.status === 404) return undefined
    return response.json()
  }
  async function change(path: string, edit: (object: Anything) => void, tries = 5): Promise<Anything> {
    const object = await done('GET', path)
    edit(object)
    const response = await send('PUT', path, object)
    if (response.status === 409 && tries > 1) return change(path, edit, tries - 1)
    const text = await response.text()
    if (!response.ok) throw new Error(`PUT ${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }
  return {
    create: (path, object) => done('POST', path, object),
    get: (path) => done('GET', path),
    find,
    change,
    remove: async (path) => {
      await done('DELETE', path)
    },
  }
}

export const decode = (data: string | undefined): string => Buffer.from(data ?? '', 'base64').toString()
