import { type Admin, type Anything, decode } from '../contract/kube.ts'
import type { Served } from './served.ts'

/** What a pod has in its environment. */
interface PodLogin {
  readonly username: string
  readonly password: string
}

type Counts = Record<string, number>

interface Pods {
  /** Logins that were let in and refused so far, by username. */
  readonly counts: { readonly letIn: Readonly<Counts>; readonly refused: Readonly<Counts> }
  /** Ends when each pod that is there has tried to log in once more. */
  readonly round: () => Promise<void>
  readonly end: () => Promise<void>
}

interface Pod {
  readonly tries: () => number
  readonly isReady: () => boolean
  readonly end: () => Promise<void>
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 10))

/**
 * For the ReplicaSet controller and the kubelet: each ReplicaSet has as many pods as it shall have. A pod reads the Secret
 * `orders-login` when it starts, and again and again until there is a password in it, keeps what it has read, and logs in
 * without a pause until it is ended. It is ready once it was let in.
 */
export function startPods(
  { admin }: Pick<Served, 'admin'>,
  namespace: string,
  login: (held: PodLogin) => Promise<boolean>,
): Pods {
  const letIn: Counts = {}
  const refused: Counts = {}
  const running = new Map<string, Pod[]>()
  let isEnded = false

  const start = (): Pod =>
    startPod(
      async () => readLogin(await admin.find(`/api/v1/namespaces/${namespace}/secrets/orders-login`)),
      async (held) => {
        const isIn = await login(held)
        const counts = isIn ? letIn : refused
        counts[held.username] = (counts[held.username] ?? 0) + 1
        return isIn
      },
    )

  const work = async () => {
    while (!isEnded) {
      await reconcile(admin, namespace, running, start)
      await pause()
    }
  }
  const working = work()
  // Its failure is the test's, at the end.
  working.catch(() => {})
  const all = () => [...running.values()].flat()
  return {
    counts: { letIn, refused },
    round: async () => {
      const wanted = all().map((pod) => ({ pod, tries: pod.tries() + 2 }))
      while (wanted.some(({ pod, tries }) => pod.tries() < tries)) await pause()
    },
    end: async () => {
      isEnded = true
      await working
      await Promise.all(all().map((pod) => pod.end()))
    },
  }
}

async function reconcile(
  admin: Admin,
  namespace: string,
  running: Map<string, Pod[]>,
  start: () => Pod,
): Promise<void> {
  const path = `/apis/apps/v1/namespaces/${namespace}/replicasets`
  const { items } = await admin.get(path)
  const wanted = new Map<string, Anything>(items.map((set: Anything) => [set.metadata.name, set]))
  for (const [name, pods] of running) {
    const ended = pods.splice(wanted.get(name)?.spec.replicas ?? 0)
    await Promise.all(ended.map((pod) => pod.end()))
  }
  for (const [name, { metadata, spec, status }] of wanted) {
    const pods = running.get(name) ?? []
    running.set(name, pods)
    while (pods.length < spec.replicas) pods.push(start())
    const ready = pods.filter((pod) => pod.isReady()).length
    const next = {
      replicas: pods.length,
      fullyLabeledReplicas: pods.length,
      readyReplicas: ready,
      availableReplicas: ready,
      observedGeneration: metadata.generation,
    }
    if (Object.entries(next).every(([field, value]) => (status?.[field] ?? 0) === value)) continue
    await admin
      .change(`${path}/${name}/status`, (set) => Object.assign(set.status, next))
      // It may have been deleted since.
      .catch(() => {})
  }
}

function readLogin(secret: Anything): PodLogin | undefined {
  if (secret?.data?.password === undefined) return undefined
  return { username: decode(secret.data.username), password: decode(secret.data.password) }
}

function startPod(
  read: () => Promise<PodLogin | undefined>,
  login: (held: PodLogin) => Promise<boolean>,
): Pod {
  let isEnded = false
  let isReady = false
  let tries = 0
  const work = async () => {
    let environment: PodLogin | undefined
    while (!isEnded) {
      await pause()
      environment ??= await read()
      if (environment === undefined) continue
      isReady = (await login(environment)) || isReady
      tries += 1
    }
  }
  const working = work()
  working.catch(() => {})
  return {
    tries: () => tries,
    isReady: () => isReady,
    end: async () => {
      isEnded = true
      await working
    },
  }
}
