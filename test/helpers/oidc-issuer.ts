import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import type { ControlPlane } from '../control-plane/start.ts'

export interface OidcIssuer {
  readonly url: string
  /** What it signs with, the public half: ES256. */
  readonly key: JWK
  /** A token of five minutes, for the audience `kubernetes` unless the claims name another. */
  readonly sign: (claims: Readonly<Record<string, unknown>>) => Promise<string>
  readonly stop: () => void
}

/** Discovery and one key, over TLS that only the cluster's CA vouches for. */
export async function startIssuer(plane: Pick<ControlPlane, 'serverCertificateFor'>): Promise<OidcIssuer> {
  const { certFile, keyFile } = await plane.serverCertificateFor(['localhost'])
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const key = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }
  const keys = [key]
  const server: Server = createServer(
    { cert: await readFile(certFile), key: await readFile(keyFile) },
    (request, response) => {
      const body = request.url === '/keys' ? { keys } : { issuer: url, jwks_uri: `${url}/keys` }
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    },
  )
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const url = `https://localhost:${(server.address() as AddressInfo).port}`
  const sign = (claims: Readonly<Record<string, unknown>>) => {
    const now = Math.floor(Date.now() / 1000)
    return new SignJWT({ iss: url, aud: 'kubernetes', iat: now, exp: now + 300, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .sign(privateKey)
  }
  return {
    url,
    key,
    sign,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
