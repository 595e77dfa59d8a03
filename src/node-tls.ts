import { constants, createPrivateKey, X509Certificate } from 'node:crypto'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import type { Log } from './core/deps.ts'
import type { ClientCertificate } from './core/http.ts'
import { cutBytes } from './core/text.ts'
import { readText } from './k8s/node-files.ts'

interface TlsOptions {
  readonly certFile: string
  readonly keyFile: string
  /** PEM: who vouches for client certificates, as it is now. Undefined: nobody does. */
  readonly clientAuthority: () => string | undefined
  readonly now: () => number
  readonly log: Log
}

/** The HTTPS side of a server. */
export interface Tls {
  readonly createServer: (options: ServerOptions) => Server
  /** Reads certificate and key again, and the client authority; new handshakes use them, connections live on. */
  readonly refresh: () => Promise<void>
  /** What a connection showed, when the authority that is trusted *now* vouches for it. */
  readonly certificateOf: (socket: Socket) => ClientCertificate | undefined
  /** Whether it showed anything at all. */
  readonly hasCertificate: (socket: Socket) => boolean
}

interface Pair {
  readonly cert: string
  readonly key: string
}

const MAX_NAME_BYTES = 128

/** Throws an Error that names the files when they hold no pair that a server can use. */
export async function openTls(options: TlsOptions): Promise<Tls> {
  const { certFile, keyFile, clientAuthority, now, log } = options
  let pair = await readPair(options).catch((error: unknown) => {
    throw new Error(`no serving certificate: ${certFile}, ${keyFile}: ${whyOf(error)}`, { cause: error })
  })
  let inForce = { pair, authority: clientAuthority() }
  const servers = new Set<Server>()
  /** The authority that was in force when a connection was made. */
  const shownUnder = new WeakMap<Socket, string | undefined>()
  const checked = new WeakMap<Socket, { readonly authority: string; readonly shown: Shown | undefined }>()

  const contextOf = () => ({
    ...pair,
    ...(inForce.authority === undefined ? {} : { ca: inForce.authority }),
    // Every connection proves itself anew: a resumed one would show no certificate (RFC 8446, section 2.2).
    secureOptions: constants.SSL_OP_NO_TICKET,
  })

  /**
   * The handshake has proved the key and checked the chain. When the authority has been replaced since, what was
   * shown must be signed by the new one; a chain with others in between is checked by a new handshake only.
   */
  function check(socket: TLSSocket, authority: string): Shown | undefined {
    const isChecked =
      socket.authorized && (shownUnder.get(socket) === authority || isSignedBy(socket, authority))
    const shown = shownBy(socket)
    if (isChecked || shown === undefined) return isChecked ? shown : undefined
    log('warn', 'client_certificate_untrusted', { commonName: cutBytes(shown.commonName, MAX_NAME_BYTES) })
    return undefined
  }

  return {
    createServer(more) {
      // Optional: probes and people with a token have none. Whether it counts, `certificateOf` says.
      const clients = { requestCert: true, rejectUnauthorized: false }
      const server = createServer({ ...more, ...contextOf(), ...clients, minVersion: 'TLSv1.2' })
      servers.add(server)
      server.on('secureConnection', (socket) => shownUnder.set(socket, inForce.authority))
      server.once('close', () => servers.delete(server))
      return server
    },
    async refresh() {
      pair = await readPair(options).catch((error: unknown) => {
        // While the files are swapped they may not belong together for a moment; the old pair goes on.
        log('warn', 'serving_certificate_unread', { why: whyOf(error) })
        return pair
      })
      const authority = clientAuthority()
      if (pair.cert === inForce.pair.cert && pair.key === inForce.pair.key && authority === inForce.authority)
        return
      if (pair.cert !== inForce.pair.cert) log('info', 'serving_certificate_read', {})
      inForce = { pair, authority }
      for (const server of servers) server.setSecureContext(contextOf())
    },
    certificateOf(socket) {
      const authority = clientAuthority()
      if (!(socket instanceof TLSSocket) || authority === undefined) return undefined
      const known = checked.get(socket)
      const shown = known?.authority === authority ? known.shown : check(socket, authority)
      checked.set(socket, { authority, shown })
      return shown !== undefined && shown.validTo > now() ? { commonName: shown.commonName } : undefined
    },
    hasCertificate: (socket) => socket instanceof TLSSocket && socket.getPeerX509Certificate() !== undefined,
  }
}

async function readPair({ certFile, keyFile }: Pick<TlsOptions, 'certFile' | 'keyFile'>): Promise<Pair> {
  const [cert, key] = await Promise.all([readText(certFile), readText(keyFile)])
  // Throws when one of them is none. OpenSSL has room for a key of each type, and would take one of another.
  createSecureContext({ cert, key })
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw Object.assign(new Error('key values mismatch'), { code: 'ERR_OSSL_X509_KEY_VALUES_MISMATCH' })
  }
  return { cert, key }
}

/** An error's code: texts of OpenSSL and of the file system say more than a log needs. */
const whyOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'no certificate and key in PEM'

interface Shown {
  readonly commonName: string
  readonly validTo: number
}

function shownBy(socket: TLSSocket): Shown | undefined {
  const { subject, valid_to: validTo } = socket.getPeerCertificate()
  const commonName = subject?.CN
  return typeof commonName === 'string' ? { commonName, validTo: Date.parse(validTo) } : undefined
}

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Whether one of these authorities has signed what was shown, with nobody in between. */
function isSignedBy(socket: TLSSocket, authority: string): boolean {
  const shown = socket.getPeerX509Certificate()
  try {
    return (authority.match(PEM_CERTIFICATE) ?? [])
      .map((block) => new X509Certificate(block))
      .some((each) => shown?.checkIssued(each) === true && shown.verify(each.publicKey))
  } catch {
    // An authority that cannot be read vouches for nobody.
    return false
  }
}
