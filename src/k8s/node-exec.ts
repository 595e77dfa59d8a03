import { PassThrough, Writable } from 'node:stream'
import type { Exec, KubeConfig, V1Status } from '@kubernetes/client-node'
import { createCollector } from '../core/bytes.ts'
import { codeOf, isUntrusted } from '../core/error-code.ts'
import type { KubeFailure } from '../core/failure.ts'
import { isObject, own, textAt } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { ExecAnswer, ExecInPod, ExecTarget } from './exec-in-pod.ts'
import { isDnsLabel, isDnsSubdomain } from './names.ts'
import type { HeaderLists, TlsOptions } from './node-https.ts'

/** The Kubernetes API as a connection of its own reaches it. */
export interface ExecWay {
  /** `https://host:port`, with a path or without. */
  readonly server: string
  /** Asked for every command. Rejects with the code `NO_CREDENTIALS` when there are none to be had. */
  readonly credentials: () => Promise<{ readonly headers: HeaderLists; readonly tls: TlsOptions }>
}

interface ExecOptions {
  /** For a whole command, from the connection to its exit status. */
  readonly timeoutMs: number
  /** Of stdout and stderr together. */
  readonly maxBytes: number
}

type Socket = Awaited<ReturnType<Exec['exec']>>
/** `isomorphic-ws` hands this to the caller of `onerror`. */
type Failed = { readonly error?: unknown; readonly message?: unknown }

const WHAT = 'create pods/exec'
/** The first protocol in which a client can end the input alone (KEP-4006). */
const CAN_END_INPUT = 'v5.channel.k8s.io'

/**
 * Commands in pods through `@kubernetes/client-node`'s Exec over WebSocket, which is loaded at the first of them: it costs
 * half a second. Nothing that a command reads or says is kept, logged or made part of a failure.
 */
export function createExec(way: ExecWay, options: ExecOptions): ExecInPod {
  return async (target, stdin, { signal } = {}) => {
    if (!isDnsLabel(target.namespace) || !isDnsSubdomain(target.pod) || !isDnsLabel(target.container)) {
      throw new TypeError('a pod and a container have names of DNS')
    }
    const late = AbortSignal.timeout(options.timeoutMs)
    const ending = signal === undefined ? late : AbortSignal.any([signal, late])
    return ending.aborted ? fail(TIMEOUT) : run(way, options, { target, stdin, ending })
  }
}

const TIMEOUT = { reason: 'kube_timeout', call: WHAT } as const satisfies KubeFailure

interface Run {
  readonly target: ExecTarget
  readonly stdin: string
  readonly ending: AbortSignal
}

function run(
  way: ExecWay,
  { maxBytes, timeoutMs }: ExecOptions,
  { target, stdin, ending }: Run,
): Promise<Result<ExecAnswer>> {
  return new Promise((resolve) => {
    let socket: Socket | undefined
    let isOver = false
    const end = (result: Result<ExecAnswer>) => {
      isOver = true
      ending.removeEventListener('abort', abort)
      socket?.terminate()
      resolve(result)
    }
    const abort = () => end(fail(TIMEOUT))
    ending.addEventListener('abort', abort, { once: true })

    const output = collector(maxBytes, () => end(fail({ reason: 'kube_error', call: WHAT, code: 200 })))
    const input = new PassThrough()
    const status = (said: V1Status) => end(answerOf(said, output))
    connect(way, { target, input, output, status, timeoutMs, broken: () => end(fail(SENSELESS)) }).then(
      (connected) => {
        socket = connected
        // It is a moment ago that it was connected: enough for a status, or for the end of our patience.
        if (isOver) return connected.terminate()
        // Its status comes before: whoever hears of the end first has not heard it.
        connected.on('close', () => end(fail(CUT_OFF)))
        connected.on('error', () => end(fail(CUT_OFF)))
        input.write(stdin)
        if (connected.protocol === CAN_END_INPUT) input.end()
      },
      (error: unknown) => end(fail(failureOf(error))),
    )
  })
}

const SENSELESS = { reason: 'kube_error', call: WHAT, code: 200 } as const satisfies KubeFailure
const CUT_OFF = {
  reason: 'kube_unreachable',
  call: WHAT,
  why: 'the connection ended before the command',
  sent: true,
} as const satisfies KubeFailure

interface Streams {
  readonly target: ExecTarget
  readonly input: PassThrough
  readonly output: Output
  readonly status: (said: V1Status) => void
  /** The API server said what no protocol has. */
  readonly broken: () => void
  readonly timeoutMs: number
}

async function connect(
  { server, credentials }: ExecWay,
  { target, input, output, status, broken, timeoutMs }: Streams,
): Promise<Socket> {
  const [{ Exec }, { headers, tls }] = await Promise.all([import('@kubernetes/client-node'), credentials()])
  // All that the handler asks of a kubeconfig.
  const kubeconfig = {
    getCurrentCluster: () => ({ server: server.replace(/\/+$/, '') }),
    applyToHTTPSOptions: async (options: object) => {
      Object.assign(options, tls, { headers, handshakeTimeout: timeoutMs, maxPayload: MAX_MESSAGE_BYTES })
    },
  } as unknown as KubeConfig
  const { handler } = new Exec(kubeconfig)
  // An API server that ends a stream would have it end that of this process.
  Object.assign(handler, { streams: nowhere() })
  const exec = new Exec(kubeconfig, {
    connect: (path, onText, onBinary) =>
      handler.connect(path, onText, (stream, bytes) => {
        // That a stream of the other side has ended is nothing to know; a throw here would end the process.
        if (stream === CLOSED) return true
        try {
          return onBinary?.(stream, bytes) ?? true
        } catch {
          broken()
          return false
        }
      }),
  })
  const { namespace, pod, container, command } = target
  return exec.exec(
    namespace,
    pod,
    container,
    [...command],
    output.stdout,
    output.stderr,
    input,
    false,
    status,
  )
}

const nowhere = () => ({ stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() })

/** `k8s.io/apimachinery/pkg/util/remotecommand`, StreamClose. */
const CLOSED = 255
const MAX_MESSAGE_BYTES = 1_048_576

interface Output {
  readonly stdout: Writable
  readonly stderr: Writable
  /** UTF-8, with replacement characters for what is none. */
  readonly textOf: (stream: 'stdout' | 'stderr') => string
}

function collector(maxBytes: number, tooMuch: () => void): Output {
  const collected = { stdout: createCollector(maxBytes), stderr: createCollector(maxBytes) }
  let length = 0
  const writable = (stream: 'stdout' | 'stderr') =>
    // More of it after its end is an error that nobody waits for.
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        length += chunk.length
        if (length > maxBytes) tooMuch()
        else collected[stream].take(new Uint8Array(chunk))
        done()
      },
    }).on('error', () => {})
  return {
    stdout: writable('stdout'),
    stderr: writable('stderr'),
    textOf: (stream) => Buffer.from(collected[stream].bytes()).toString('utf8'),
  }
}

/** The last message: a `metav1.Status`, with the exit code as a cause when it is not 0 (`k8s.io/client-go/tools/remotecommand/v4.go`). */
function answerOf(status: V1Status, { textOf }: Output): Result<ExecAnswer> {
  const exitCode = exitCodeIn(status)
  if (exitCode === undefined) return fail({ reason: 'kube_error', call: WHAT, code: status.code ?? 500 })
  return ok({ stdout: textOf('stdout'), stderr: textOf('stderr'), exitCode })
}

function exitCodeIn(status: unknown): number | undefined {
  if (textAt(status, 'status') === 'Success') return 0
  if (textAt(status, 'reason') !== 'NonZeroExitCode') return undefined
  const causes = own(own(status, 'details'), 'causes')
  const cause = Array.isArray(causes)
    ? causes.find((each) => textAt(each, 'reason') === 'ExitCode')
    : undefined
  const code = Number(textAt(cause, 'message'))
  return Number.isInteger(code) ? code : undefined
}

/** Before there was a connection. `ws` says which status an API server answered instead of 101. */
function failureOf(error: unknown): KubeFailure {
  const { error: inner, message } = isObject(error) ? (error as Failed) : {}
  const cause = error instanceof Error ? error : inner
  const said = cause instanceof Error ? cause.message : message
  const status = /^Unexpected server response: (\d{3})$/.exec(typeof said === 'string' ? said : '')?.[1]
  if (status !== undefined) return refusalOf(Number(status))
  const code = codeOf(cause)
  if (code === undefined) return { reason: 'kube_unreachable', call: WHAT, why: 'no connection', sent: false }
  const why = isUntrusted(code) ? `${code}: its certificate is not trusted` : code
  return { reason: 'kube_unreachable', call: WHAT, why, sent: false }
}

/** 404 as well: a pod that has gone since it was listed comes back under its name, so that asking again may do. */
function refusalOf(code: number): KubeFailure {
  if (code === 401) return { reason: 'kube_unauthenticated' }
  return code === 403 ? { reason: 'kube_forbidden', call: WHAT } : { reason: 'kube_error', call: WHAT, code }
}
