import { existsSync } from 'node:fs'
import { delimiter, join, resolve, sep } from 'node:path'
import type { KubeConfig, User } from '@kubernetes/client-node'
import { codeOf } from '../core/error-code.ts'
import { filledAt, isObject, own } from '../core/json.ts'
import { podKubeconfig } from './node-pod.ts'

/** A kubeconfig that was read, and what each of its users says in full. */
export interface KubeconfigFiles {
  readonly kubeconfig: KubeConfig
  /** The `user` of the current context as it stands in its file, with absolute paths. Undefined: there is none. */
  readonly currentUser: () => { readonly name: string; readonly user: unknown } | undefined
}

type Env = Readonly<Record<string, string | undefined>>

export interface Where {
  /** Undefined: `$KUBECONFIG`, then `~/.kube/config`. */
  readonly path: string | undefined
  readonly env: Env
  /** Where the kubelet mounts the credentials of a pod. */
  readonly serviceAccountFolder: string
}

/**
 * Reads a file, or those that kubectl would read; where they say nothing at all, the account of the pod that this runs in
 * (k8s.io/client-go/tools/clientcmd/merged_client_builder.go). Throws an Error that says what is missing.
 */
export async function loadKubeconfig({ path, env, serviceAccountFolder }: Where): Promise<KubeconfigFiles> {
  const create = await kubeconfigs()
  const kubeconfig = create()
  const paths = path === undefined ? defaultPaths(env) : [path]
  const files = path === undefined ? paths.filter((each) => existsSync(each)) : paths
  for (const file of files) merge(kubeconfig, file, create)
  if (isEmpty(kubeconfig)) {
    const pod = podKubeconfig(serviceAccountFolder, env)
    if (pod !== undefined) kubeconfig.loadFromString(JSON.stringify(pod))
    else if (files.length === 0) throw new Error(`there is no kubeconfig: ${missing(paths, env)}`)
  }
  return { kubeconfig, currentUser: () => writtenBy(kubeconfig.getCurrentUser()) }
}

const listed = (env: Env): readonly string[] => (env.KUBECONFIG ?? '').split(delimiter).filter(Boolean)

function defaultPaths(env: Env): readonly string[] {
  const home = env.HOME || env.USERPROFILE
  if (listed(env).length > 0) return listed(env)
  return home ? [join(home, '.kube', 'config')] : []
}

const missing = (paths: readonly string[], env: Env): string =>
  listed(env).length > 0
    ? `KUBECONFIG names ${paths.join(' and ')}`
    : 'name a file, set KUBECONFIG or write ~/.kube/config'

const isEmpty = ({ clusters, users, contexts, currentContext }: KubeConfig): boolean =>
  clusters.length + users.length + contexts.length === 0 && !currentContext

interface FullUser extends User {
  /** As it stands in the file. */
  readonly written?: unknown
}

const writtenBy = (user: FullUser | null) =>
  user === null ? undefined : { name: user.name, user: user.written }

/**
 * Makes empty kubeconfigs that keep what `@kubernetes/client-node` drops (`tokenFile`, most of what a user says about
 * impersonation), and whose paths are those that client-go finds.
 */
async function kubeconfigs(): Promise<() => KubeConfig> {
  const [{ KubeConfig }, { parse }] = await Promise.all([import('@kubernetes/client-node'), import('yaml')])
  return () => {
    const kubeconfig = new KubeConfig()
    const read = kubeconfig.loadFromString.bind(kubeconfig)
    const makeAbsolute = kubeconfig.makePathsAbsolute.bind(kubeconfig)
    // Every way to load goes through these two.
    kubeconfig.loadFromString = (text, options) => {
      const document = withoutQuotes(() => {
        const parsed: unknown = parse(text, { merge: true })
        // An empty file is a kubeconfig without anything, as for client-go.
        read(isObject(parsed) ? text : '{}', options)
        return parsed
      })
      const users = own(document, 'users')
      kubeconfig.users = kubeconfig.users.map((user, index): FullUser => {
        const written = own(Array.isArray(users) ? users[index] : undefined, 'user')
        return { ...user, written }
      })
    }
    kubeconfig.makePathsAbsolute = (folder) => {
      makeAbsolute(folder)
      kubeconfig.users = kubeconfig.users.map(
        (user: FullUser): FullUser => ({ ...user, written: resolved(user.written, folder) }),
      )
    }
    return kubeconfig
  }
}

/** Runs a parser of YAML. What it throws has lines of the file in it, which has credentials in it: the number must do. */
function withoutQuotes<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    // What client-node says of its own has names at most; parsers have errors of other kinds.
    if (error instanceof Error && error.name === 'Error') throw error
    if (!(error instanceof Error) || error.name === 'TypeError')
      throw new Error('the kubeconfig is not as it must be')
    const [, line] = /\bline (\d+)|\((\d+):\d+\)/.exec(error.message)?.filter(Boolean) ?? []
    throw new Error(`the kubeconfig is no YAML${line === undefined ? '' : `: line ${line}`}`)
  }
}

/**
 * From the folder of the file, as client-go does: a command only when it is a path
 * (k8s.io/client-go/tools/clientcmd/loader.go, `GetAuthInfoFileReferences`).
 */
function resolved(user: unknown, folder: string): unknown {
  if (!isObject(user)) return user
  const files = ['tokenFile', 'client-certificate', 'client-key'].flatMap((field) => {
    const path = filledAt(user, field)
    return path === undefined ? [] : [[field, resolve(folder, path)] as const]
  })
  const exec = own(user, 'exec')
  const command = filledAt(exec, 'command')
  // Absolute in any case: "./plugin" must not become a name to look for on the PATH.
  const program =
    command?.includes(sep) && isObject(exec) ? { exec: { ...exec, command: resolve(folder, command) } } : {}
  return { ...user, ...Object.fromEntries(files), ...program }
}

/**
 * As client-go merges them (k8s.io/client-go/tools/clientcmd/loader.go): whoever is named first counts, also for the
 * current context.
 */
function merge(into: KubeConfig, file: string, create: () => KubeConfig): void {
  const one = create()
  try {
    one.loadFromFile(file)
  } catch (error) {
    const code = codeOf(error)
    throw code === undefined ? error : new Error(`the kubeconfig ${file} cannot be read (${code})`)
  }
  into.clusters = merged(into.clusters, one.clusters)
  into.users = merged(into.users, one.users)
  into.contexts = merged(into.contexts, one.contexts)
  into.currentContext ||= one.currentContext
}

const merged = <T extends { readonly name: string }>(known: readonly T[], more: readonly T[]): T[] => [
  ...known,
  ...more.filter(({ name }) => !known.some((each) => each.name === name)),
]
