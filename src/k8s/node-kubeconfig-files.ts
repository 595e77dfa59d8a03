import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { RequestOptions } from 'node:https'
import { delimiter, resolve, sep } from 'node:path'
import type { KubeConfig, User } from '@kubernetes/client-node'
import { filledAt, isObject, own, textAt } from '../core/json.ts'

/** A kubeconfig that was read, and what each of its users says in full. */
export interface KubeconfigFiles {
  readonly kubeconfig: KubeConfig
  /** The `user` of the current context as it stands in its file. Undefined: there is none. */
  readonly currentUser: () => unknown
}

/**
 * Reads a file, or what kubectl would read: `$KUBECONFIG`, then `~/.kube/config`, then the pod's own account. Throws an
 * Error that says what is missing.
 */
export async function loadKubeconfig(path: string | undefined): Promise<KubeconfigFiles> {
  const create = await kubeconfigs()
  const kubeconfig = create()
  const listed = (process.env.KUBECONFIG ?? '').split(delimiter).filter(Boolean)
  if (path !== undefined) kubeconfig.loadFromFile(path)
  else if (listed.length > 0) loadAll(kubeconfig, listed, create)
  else kubeconfig.loadFromDefault()
  // What client-node makes up when it finds nothing: http://localhost:8080.
  if (kubeconfig.getCurrentContext() === 'loaded-context') {
    throw new Error('there is no kubeconfig: name a file, set KUBECONFIG or write ~/.kube/config')
  }
  // client-node refuses plain HTTP (`kubectl proxy`) unless told to skip what plain HTTP does not have.
  kubeconfig.clusters = kubeconfig.clusters.map((cluster) =>
    cluster.server.startsWith('http:') ? { ...cluster, skipTLSVerify: true } : cluster,
  )
  return { kubeconfig, currentUser: () => (kubeconfig.getCurrentUser() as FullUser | null)?.written }
}

interface FullUser extends User {
  /** As it stands in the file. */
  readonly written?: unknown
}

/**
 * Makes empty kubeconfigs that read more than `@kubernetes/client-node` does, which drops `tokenFile` and most of what a
 * user says about impersonation, and leaves some paths relative to where the program was started.
 */
async function kubeconfigs(): Promise<() => KubeConfig> {
  const [{ KubeConfig }, { parse }] = await Promise.all([import('@kubernetes/client-node'), import('yaml')])
  return () => {
    const kubeconfig = new KubeConfig()
    const read = kubeconfig.loadFromString.bind(kubeconfig)
    const makeAbsolute = kubeconfig.makePathsAbsolute.bind(kubeconfig)
    kubeconfig.addAuthenticator({
      isAuthProvider: (user) => tokenFileOf(user) !== undefined,
      applyAuthentication: applyTokenFile,
    })
    // Every way to load goes through these two.
    kubeconfig.loadFromString = (text, options) => {
      const document = withoutQuotes(() => {
        const parsed: unknown = parse(text, { merge: true })
        // An empty file is a kubeconfig without anything, as for client-go.
        read(isObject(parsed) ? text : '{}', options)
        return parsed
      })
      const users = own(document, 'users')
      kubeconfig.users = kubeconfig.users.map((user, index) =>
        completed(user, own(Array.isArray(users) ? users[index] : undefined, 'user')),
      )
    }
    kubeconfig.makePathsAbsolute = (folder) => {
      makeAbsolute(folder)
      kubeconfig.users = kubeconfig.users.map((user) => resolved(user, folder))
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
    if (!(error instanceof Error) || ['Error', 'TypeError'].includes(error.name)) throw error
    const [, line] = /\bline (\d+)|\((\d+):\d+\)/.exec(error.message)?.filter(Boolean) ?? []
    throw new Error(`the kubeconfig is no YAML${line === undefined ? '' : `: line ${line}`}`)
  }
}

/** Whom to impersonate is for us to say. A token in a file is stronger than one beside it (clientcmd/api/v1/types.go). */
function completed({ impersonateUser: _, ...user }: User, written: unknown): FullUser {
  const tokenFile = filledAt(written, 'tokenFile')
  if (tokenFile === undefined) return { ...user, written }
  const { token: __, ...rest } = user
  return { ...rest, authProvider: { name: TOKEN_FILE, path: tokenFile }, written }
}

/**
 * From the folder of the file, as client-go does: a command only when it is a path
 * (k8s.io/client-go/tools/clientcmd/loader.go, `GetAuthInfoFileReferences`).
 */
function resolved(user: User, folder: string): User {
  // Absolute in any case: "./plugin" must not become a name to look for on the PATH.
  const from = (path: string) => resolve(folder, path)
  const exec: unknown = user.exec
  const command = filledAt(exec, 'command')
  const tokenFile = tokenFileOf(user)
  return {
    ...user,
    ...(tokenFile === undefined ? {} : { authProvider: { name: TOKEN_FILE, path: from(tokenFile) } }),
    ...(command?.includes(sep) && isObject(exec) ? { exec: { ...exec, command: from(command) } } : {}),
  }
}

const TOKEN_FILE = 'mintonce-token-file'

const tokenFileOf = ({ authProvider }: User): string | undefined =>
  own(authProvider, 'name') === TOKEN_FILE ? textAt(authProvider, 'path') : undefined

/**
 * Read for every request: whoever rotates it need not tell us. Rejects with an Error that may be shown where there is no
 * token: without one the call would be nobody's.
 */
async function applyTokenFile(user: User, options: RequestOptions): Promise<void> {
  const path = tokenFileOf(user) ?? ''
  const refused = (what: string, cause?: unknown) =>
    Object.assign(new Error(`the tokenFile ${path} of the kubeconfig ${what}`, { cause }), {
      code: TOKEN_FILE_CODE,
    })
  const text = await readFile(path, 'utf8').catch((cause) => {
    throw refused('cannot be read', cause)
  })
  const token = text.trim()
  if (token === '') throw refused('is empty')
  options.headers = { ...options.headers, Authorization: `Bearer ${token}` }
}

/** Of errors that may be shown. */
export const TOKEN_FILE_CODE = 'TOKEN_FILE'

/**
 * As client-go merges them (k8s.io/client-go/tools/clientcmd/loader.go): whoever is named first counts, also for the
 * current context, and a file that is not there is passed over.
 */
function loadAll(into: KubeConfig, paths: readonly string[], create: () => KubeConfig): void {
  const files = paths.filter((path) => existsSync(path))
  if (files.length === 0) throw new Error(`there is no kubeconfig: KUBECONFIG names ${paths.join(' and ')}`)
  for (const file of files) {
    const one = create()
    one.loadFromFile(file)
    into.clusters = merged(into.clusters, one.clusters)
    into.users = merged(into.users, one.users)
    into.contexts = merged(into.contexts, one.contexts)
    into.currentContext ||= one.currentContext
  }
}

const merged = <T extends { readonly name: string }>(known: readonly T[], more: readonly T[]): T[] => [
  ...known,
  ...more.filter(({ name }) => !known.some((each) => each.name === name)),
]
