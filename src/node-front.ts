import type { Authenticator } from './auth/authenticator.ts'
import { createFrontProxyAuthenticator } from './auth/front-proxy.ts'
import { createRequestHeaderReader, type RequestHeaderReader } from './auth/request-header-reader.ts'
import type { Config } from './config.ts'
import type { Deps } from './core/deps.ts'
import { createKube } from './k8s/adapter.ts'
import type { Send } from './k8s/send.ts'
import { openTls, type Tls } from './node-tls.ts'

interface Front {
  readonly tls: Tls
  readonly authenticators?: readonly Authenticator[]
  readonly waitsFor?: () => string | undefined
}

type TlsFiles = NonNullable<Config['tls']>
type Settings = Pick<Config, 'frontProxy' | 'kubeTimeoutMs' | 'requestHeaderMaxAgeMs'>

interface Parts {
  readonly deps: Pick<Deps, 'now' | 'log' | 'metrics'>
  readonly kube: Send
}

/** The kubelet replaces files of a Secret within a minute or so of the change. */
const FILES_AGAIN_MS = 5000
/** While there is no authority that could be believed. */
const AUTHORITY_AGAIN_MS = 2000

/**
 * HTTPS, and kube-apiserver's front proxy when that is asked for. Certificate and authority are read again as they
 * change. Throws an Error when the certificate cannot be used, and when the authority is published in a way that
 * would let strangers name themselves.
 */
export async function openFront(
  files: TlsFiles,
  config: Settings,
  { kube: send, deps }: Parts,
): Promise<Front> {
  const requestHeader = config.frontProxy ? await openRequestHeader(config, { kube: send, deps }) : undefined
  const clientAuthority = () => requestHeader?.current()?.authority
  const tls = await openTls({ ...files, clientAuthority, ...deps })
  setInterval(() => void tls.refresh(), FILES_AGAIN_MS).unref()
  if (requestHeader === undefined) return { tls }
  const isInUse = readAgain(requestHeader, tls, config.requestHeaderMaxAgeMs)
  return {
    tls,
    authenticators: [createFrontProxyAuthenticator({ requestHeader: requestHeader.current, log: deps.log })],
    waitsFor: () =>
      requestHeader.current() === undefined || !isInUse() ? 'the request-header CA is not loaded' : undefined,
  }
}

async function openRequestHeader(
  { kubeTimeoutMs: timeoutMs }: Settings,
  { kube: send, deps }: Parts,
): Promise<RequestHeaderReader> {
  const kube = createKube({ ...deps, send, timeoutMs, reportingInstance: '' })
  const requestHeader = createRequestHeaderReader({ kube, log: deps.log })
  const problems = await requestHeader.read()
  if (problems.length === 0) return requestHeader
  const where = 'ConfigMap kube-system/extension-apiserver-authentication'
  throw new Error([`the front proxy is not believed: ${where}:`, ...problems].join('\n  '))
}

/** More often while nothing could be read. Answers whether handshakes go by what was read: a moment after it was. */
function readAgain(requestHeader: RequestHeaderReader, tls: Tls, maxAgeMs: number): () => boolean {
  let isInUse = false
  const next = () => {
    isInUse = requestHeader.current() !== undefined
    setTimeout(
      async () => {
        await requestHeader.read()
        await tls.refresh()
        next()
      },
      isInUse ? maxAgeMs : Math.min(AUTHORITY_AGAIN_MS, maxAgeMs),
    ).unref()
  }
  next()
  return () => isInUse
}
