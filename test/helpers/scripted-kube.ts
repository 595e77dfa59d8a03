import type { Kube } from '../../src/k8s/kube.ts'

type Method = keyof Kube
type Arguments<M extends Method> = Parameters<Kube[M]>

/** A Kubernetes API that answers what a test scripted, and remembers what it was asked, in order. */
export interface ScriptedKube {
  readonly kube: Kube
  /** The methods that were called, in order. */
  readonly called: () => readonly Method[]
  readonly argumentsOf: <M extends Method>(method: M) => readonly Arguments<M>[]
}

const METHODS: readonly Method[] = [
  'getHelmRelease',
  'listDefinitions',
  'getSecret',
  'getConfigMap',
  'getTenantProjection',
  'listTenantProjections',
  'updateTenantProjectionStatus',
  'getNamespace',
  'listHelmReleases',
  'whoAmI',
  'listSecrets',
  'createSecret',
  'updateSecret',
  'deleteSecret',
  'reviewToken',
  'reviewAccess',
  'createEvent',
  'ping',
]

/** A call that was not scripted rejects: the code under test was not meant to make it. */
export function scriptedKube(script: Partial<Kube>): ScriptedKube {
  const calls: { readonly method: Method; readonly given: readonly unknown[] }[] = []
  const record = (method: Method) => {
    const answer = script[method] as ((...given: readonly unknown[]) => unknown) | undefined
    return async (...given: readonly unknown[]) => {
      calls.push({ method, given })
      if (answer === undefined) throw new Error(`${method} was not to be called`)
      return answer(...given)
    }
  }
  return {
    kube: Object.fromEntries(METHODS.map((method) => [method, record(method)])) as unknown as Kube,
    called: () => calls.map(({ method }) => method),
    argumentsOf: <M extends Method>(wanted: M) =>
      calls.filter(({ method }) => method === wanted).map(({ given }) => given as unknown as Arguments<M>),
  }
}
