import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { isatty } from 'node:tty'
import type { Cluster } from '@kubernetes/client-node'
import { isBearerToken } from '../core/bearer.ts'
import { filledAt, isObject, own, parseJson, textAt } from '../core/json.ts'
import { isPair } from './node-pem.ts'

/** How a plug-in may speak with the person at the terminal. */
export interface PluginTerminal {
  /** Whether it may ask: standard input is ours alone, and is given to it when it is a terminal. */
  readonly stdin: boolean
  /** Whether what it says to people is shown. */
  readonly stderr: boolean
}

/** A token that a header can hold, a certificate with its key, or both. */
interface ExecCredential {
  readonly token?: string
  readonly cert?: string
  readonly key?: string
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number
}

const GROUP = 'client.authentication.k8s.io'

/** Says that no credential was had, in words that hold none: a plug-in's own output is never in them. */
const refusal = (message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { code: 'EXEC_PLUGIN' })

/**
 * The `exec` of a kubeconfig's user, as client-go runs it (k8s.io/client-go/plugin/pkg/client/auth/exec/exec.go):
 * with KUBERNETES_EXEC_INFO, with the terminal where it may have it, and again when its credential has expired.
 * `@kubernetes/client-node` does none of this: it keeps what a plug-in says to people, "open this page to log in" for example.
 * Rejects with an Error that may be shown.
 */
export function createExecCredential(
  exec: unknown,
  cluster: Cluster,
  terminal: PluginTerminal,
): () => Promise<ExecCredential> {
  let known: ExecCredential | undefined
  return async () => {
    if (known === undefined || isExpired(known)) known = await runPlugin(exec, cluster, terminal)
    return known
  }
}

const isExpired = ({ expiresAt }: ExecCredential): boolean =>
  expiresAt !== undefined && expiresAt <= Date.now()

async function runPlugin(exec: unknown, cluster: Cluster, terminal: PluginTerminal): Promise<ExecCredential> {
  const command = filledAt(exec, 'command')
  if (command === undefined) throw refusal('the exec plug-in of the kubeconfig has no command')
  const apiVersion = filledAt(exec, 'apiVersion') ?? `${GROUP}/v1`
  const isInteractive = interactiveIn(exec, command, terminal)
  const info = {
    apiVersion,
    kind: 'ExecCredential',
    spec: {
      interactive: isInteractive,
      ...(own(exec, 'provideClusterInfo') === true ? { cluster: clusterInfo(cluster) } : {}),
    },
  }
  const args = own(exec, 'args')
  const output = await outputOf(command, Array.isArray(args) ? args.map(String) : [], {
    env: { ...variablesOf(exec), KUBERNETES_EXEC_INFO: JSON.stringify(info) },
    stdin: isInteractive ? 'inherit' : 'ignore',
    stderr: terminal.stderr ? 'inherit' : 'ignore',
    installHint: filledAt(exec, 'installHint'),
  })
  return credentialIn(parseJson(output), command, apiVersion)
}

function interactiveIn(exec: unknown, command: string, { stdin }: PluginTerminal): boolean {
  const mode = filledAt(exec, 'interactiveMode') ?? 'IfAvailable'
  const isAvailable = stdin && isatty(0)
  if (mode === 'Always' && !isAvailable) {
    throw refusal(`the exec plug-in ${command} wants to ask, and standard input is no terminal`)
  }
  return mode !== 'Never' && isAvailable
}

function variablesOf(exec: unknown): Readonly<Record<string, string>> {
  const env = own(exec, 'env')
  const pairs = (Array.isArray(env) ? env : []).flatMap((item) => {
    const name = textAt(item, 'name')
    return name === undefined ? [] : [[name, textAt(item, 'value') ?? ''] as const]
  })
  return Object.fromEntries(pairs)
}

function clusterInfo({ server, tlsServerName, skipTLSVerify, caFile, caData }: Cluster): object {
  const ca = caFile ? readFileSync(caFile, 'base64') : caData
  return {
    server,
    ...(tlsServerName ? { 'tls-server-name': tlsServerName } : {}),
    ...(skipTLSVerify ? { 'insecure-skip-tls-verify': true } : {}),
    ...(ca ? { 'certificate-authority-data': ca } : {}),
  }
}

interface Run {
  readonly env: Readonly<Record<string, string>>
  readonly stdin: 'inherit' | 'ignore'
  readonly stderr: 'inherit' | 'ignore'
  readonly installHint: string | undefined
}

const outputOf = (
  command: string,
  args: readonly string[],
  { env, stdin, stderr, installHint }: Run,
): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: [stdin, 'pipe', stderr],
    })
    // Who waits for it no longer, an impatient completion for example, leaves nothing behind.
    const end = () => child.kill()
    process.once('exit', end)
    let output = ''
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
    child.once('error', (cause) => {
      const hint = installHint === undefined ? '' : `\n${installHint}`
      reject(refusal(`the exec plug-in ${command} could not be run${hint}`, cause))
    })
    child.once('close', (code, signal) => {
      process.off('exit', end)
      if (code === 0) resolve(output)
      else reject(refusal(`the exec plug-in ${command} failed (${signal ?? `exit code ${code}`})`))
    })
  })

function credentialIn(answer: unknown, command: string, apiVersion: string): ExecCredential {
  if (own(answer, 'kind') !== 'ExecCredential' || own(answer, 'apiVersion') !== apiVersion) {
    throw refusal(`the exec plug-in ${command} did not answer with an ExecCredential of ${apiVersion}`)
  }
  const status = own(answer, 'status')
  const token = filledAt(status, 'token')
  const cert = filledAt(status, 'clientCertificateData')
  const key = filledAt(status, 'clientKeyData')
  if (!isObject(status) || (cert === undefined) !== (key === undefined) || (token ?? cert) === undefined) {
    throw refusal(`the exec plug-in ${command} answered neither a token nor a certificate with its key`)
  }
  const useless = whyUseless({ token, cert, key })
  if (useless !== undefined) throw refusal(`the exec plug-in ${command} answered ${useless}`)
  const expiresAt = Date.parse(filledAt(status, 'expirationTimestamp') ?? '')
  return {
    ...(token === undefined ? {} : { token }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    ...(Number.isNaN(expiresAt) ? {} : { expiresAt }),
  }
}

interface Filled {
  readonly token: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

function whyUseless({ token, cert, key }: Filled): string | undefined {
  if (token !== undefined && !isBearerToken(token)) return 'a token that no header can hold'
  return cert === undefined || key === undefined || isPair(cert, key)
    ? undefined
    : 'no certificate and key in PEM that belong together'
}
