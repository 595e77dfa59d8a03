import { readFileSync } from 'node:fs'
import type { Cluster } from '@kubernetes/client-node'
import { isBearerToken } from '../core/bearer.ts'
import { codeOf } from '../core/error-code.ts'
import { isObject, own, textAt } from '../core/json.ts'
import { createExecCredential, type PluginTerminal } from './node-exec-credential.ts'
import type { TlsOptions } from './node-https.ts'
import { hasCertificate, isPair } from './node-pem.ts'

/** Who asks: what a request shows. Nobody, where both are missing. */
interface Identity {
  readonly token?: string
  readonly cert?: string
  readonly key?: string
}

/** Where an identity comes from. */
export interface IdentitySource {
  /** A program has to be asked, which may take its time and speak with a person. */
  readonly isProgram: boolean
  /** For every request: whoever rotates a file need not tell us. Rejects with an Error that may be shown, by its code. */
  readonly read: () => Promise<Identity>
}

/** Of errors whose words hold no credential. */
export const SAFE_CODES: ReadonlySet<string> = new Set(['KUBECONFIG', 'EXEC_PLUGIN'])

/** That part of the kubeconfig is wrong, in words that hold none of what was read. */
const wrong = (message: string): Error => Object.assign(new Error(message), { code: 'KUBECONFIG' })

/**
 * Who a user of a kubeconfig is, as client-go takes it: a token in a file before one beside it
 * (k8s.io/client-go/tools/clientcmd/client_config.go), a client certificate with either, and a program only where there is
 * none of these (plugin/pkg/client/auth/exec/exec.go, `UpdateTransportConfig`). Paths in it are absolute. Throws an Error
 * that may be shown where it has something that cannot be done here: half of it would be somebody else.
 */
export function identityOf(
  user: unknown,
  { name, cluster, terminal }: { name: string; cluster: Cluster; terminal: PluginTerminal },
): IdentitySource {
  const whose = `user ${name} of the kubeconfig`
  const unsupported = unsupportedIn(user)
  if (unsupported !== undefined) throw wrong(`${whose} has ${unsupported}`)
  const isStatic = ['token', 'tokenFile', 'client-certificate', 'client-certificate-data'].some(
    (field) => fieldOf(user, field, whose) !== undefined,
  )
  const exec = own(user, 'exec')
  if (isStatic || !isObject(exec)) {
    return { isProgram: false, read: async () => ({ ...tokenOf(user, whose), ...pairOf(user, whose) }) }
  }
  return { isProgram: true, read: createExecCredential(exec, cluster, terminal) }
}

function unsupportedIn(user: unknown): string | undefined {
  const provider = own(user, 'auth-provider')
  if (provider) {
    const name = textAt(provider, 'name') ?? ''
    return `the auth-provider ${JSON.stringify(name)}, which is not supported: an exec plug-in can do the same`
  }
  return own(user, 'username') || own(user, 'password')
    ? 'a username and password, which are not supported: kube-apiserver takes none since 1.19'
    : undefined
}

/** Undefined for "", as for Go. A number where a text should be is not nobody. */
function fieldOf(from: unknown, field: string, whose: string): string | undefined {
  const value = own(from, field) ?? ''
  if (typeof value === 'string') return value || undefined
  throw wrong(`${field} of ${whose} is no text`)
}

function tokenOf(user: unknown, whose: string): Pick<Identity, 'token'> {
  const path = fieldOf(user, 'tokenFile', whose)
  const text =
    path === undefined ? fieldOf(user, 'token', whose) : readText(path, 'tokenFile', 'the kubeconfig')
  if (text === undefined) return {}
  const token = text.trim()
  const where = path === undefined ? `the token of ${whose}` : `the tokenFile ${path} of the kubeconfig`
  // Without one the call would be nobody's.
  if (token === '') throw wrong(`${where} is empty`)
  if (!isBearerToken(token)) throw wrong(`${where} is none that a header can hold`)
  return { token }
}

function pairOf(user: unknown, whose: string): Pick<Identity, 'cert' | 'key'> {
  const cert = pemOf(user, 'client-certificate', whose)
  const key = pemOf(user, 'client-key', whose)
  if (cert === undefined && key === undefined) return {}
  if (cert === undefined || key === undefined) {
    throw wrong(
      `${whose} has a client ${cert === undefined ? 'key without its certificate' : 'certificate without its key'}`,
    )
  }
  if (!isPair(cert.text, key.text)) {
    throw wrong(`${cert.where} and ${key.where} of ${whose} are no pair in PEM, without a passphrase`)
  }
  return { cert: cert.text, key: key.text }
}

/** Whom to trust as the server of a cluster, read again for every request. Throws an Error that may be shown. */
export function trustIn(cluster: Cluster): TlsOptions {
  const whose = `cluster ${cluster.name} of the kubeconfig`
  const written = { [CA]: cluster.caFile, [`${CA}-data`]: cluster.caData }
  const ca = pemOf(written, CA, whose)
  if (ca !== undefined && !hasCertificate(ca.text))
    throw wrong(`${ca.where} of ${whose} holds no certificate in PEM`)
  return {
    ...(ca === undefined ? {} : { ca: ca.text }),
    ...(cluster.skipTLSVerify ? { rejectUnauthorized: false } : {}),
    ...(cluster.tlsServerName ? { servername: cluster.tlsServerName } : {}),
  }
}

const CA = 'certificate-authority'

interface Pem {
  readonly text: string
  /** The field, with its path where it is in a file. */
  readonly where: string
}

/** What is in the kubeconfig itself counts before a file (k8s.io/client-go/tools/clientcmd/validation.go). */
function pemOf(from: unknown, field: string, whose: string): Pem | undefined {
  const data = fieldOf(from, `${field}-data`, whose)
  if (data !== undefined) return { text: Buffer.from(data, 'base64').toString(), where: `${field}-data` }
  const path = fieldOf(from, field, whose)
  return path === undefined ? undefined : { text: readText(path, field, whose), where: `${field} ${path}` }
}

function readText(path: string, field: string, whose: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw wrong(`the ${field} ${path} of ${whose} cannot be read (${codeOf(error) ?? 'no reason'})`)
  }
}
