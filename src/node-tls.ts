import { constants, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import { createSecureContext, type DetailedPeerCertificate, TLSSocket } from 'node:tls'
import type { ClientCertificate, Log } from './core/deps.ts'

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

/** Longer chains than this are nobody's; loops are possible (a root is its own issuer). */
const MAX_CHAIN = 6

/** Throws an Error that names the files when they hold no pair that a server can use. */
export async function openTls(options: TlsOptions): Promise<Tls> {
  const { certFile, keyFile, clientAuthority, now, log } = options
  let pair = await readPair(options).catch((error: unknown) => {
    throw new Error(`no serving certificate: ${certFile}, ${keyFile}: ${whyOf(error)}`, { cause: error })
  })
  let inForce = { pair, authority: clientAuthority() }
  const servers = new Set<Server>()
  const checked = new WeakMap<Socket, { readonly authority: string; readonly shown: Shown | undefined }>()

  const contextOf = () => ({
    ...pair,
    ...(inForce.authority === undefined ? {} : { ca: inForce.authority }),
    // Every connection proves itself anew: a resumed one would show no certificate (RFC 8446, section 2.2).
    secureOptions: constants.SSL_OP_NO_TICKET,
  })

  return {
    createServer(more) {
      // Optional: probes and people with a token have none. Whether it counts, `certificateOf` says.
      const clients = { requestCert: true, rejectUnauthorized: false }
      const server = createServer({ ...more, ...contextOf(), ...clients, minVersion: 'TLSv1.2' })
      servers.add(server)
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
      if (!(socket instanceof TLSSocket) || !socket.authorized || authority === undefined) return undefined
      const known = checked.get(socket)
      const shown = known?.authority === authority ? known.shown : shownBy(socket, authority)
      checked.set(socket, { authority, shown })
      return shown !== undefined && shown.validTo > now() ? { commonName: shown.commonName } : undefined
    },
    hasCertificate: (socket) => socket instanceof TLSSocket && socket.getPeerX509Certificate() !== undefined,
  }
}

async function readPair({ certFile, keyFile }: Pick<TlsOptions, 'certFile' | 'keyFile'>): Promise<Pair> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')])
  // Throws when they do not belong together.
  createSecureContext({ cert, key })
  return { cert, key }
}

/** An error's code: texts of OpenSSL and of the file system say more than a log needs. */
const whyOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'no certificate and key in PEM'

interface Shown {
  readonly commonName: string
  readonly validTo: number
}

/**
 * The handshake has proved the key and checked the chain, but possibly against an authority that was replaced since: the
 * chain is walked once more for the one of now.
 */
function shownBy(socket: TLSSocket, authority: string): Shown | undefined {
  const leaf = socket.getPeerCertificate(true)
  const commonName = leaf.subject?.CN
  if (typeof commonName !== 'string' || !isVouchedFor(leaf, authoritiesIn(authority))) return undefined
  return { commonName, validTo: Date.parse(leaf.valid_to) }
}

function isVouchedFor(leaf: DetailedPeerCertificate, authorities: readonly X509Certificate[]): boolean {
  let link: DetailedPeerCertificate | undefined = leaf
  for (let depth = 0; link?.raw !== undefined && depth < MAX_CHAIN; depth++) {
    const certificate = new X509Certificate(link.raw)
    if (authorities.some((each) => certificate.checkIssued(each) && certificate.verify(each.publicKey)))
      return true
    const issuer: DetailedPeerCertificate | undefined = link.issuerCertificate
    if (issuer?.raw === undefined || issuer === link) return false
    const above = new X509Certificate(issuer.raw)
    if (!above.ca || !certificate.checkIssued(above) || !certificate.verify(above.publicKey)) return false
    link = issuer
  }
  return false
}

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** None at all when one of them cannot be read. */
function authoritiesIn(pem: string): readonly X509Certificate[] {
  try {
    return (pem.match(PEM_CERTIFICATE) ?? []).map((block) => new X509Certificate(block))
  } catch {
    return []
  }
}
