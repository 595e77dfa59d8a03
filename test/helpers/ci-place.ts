import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig } from '../../src/config.ts'
import type { Fetch } from '../../src/core/deps.ts'
import { getOver } from '../../src/core/http-fetch.ts'
import type { Backend } from '../contract/backend.ts'
import { inProcess } from '../contract/backends/in-process.ts'
import { startSandboxApiServer } from '../contract/backends/sandbox-api-server.ts'
import { type Admin, type Anything, adminOf, decode } from '../contract/kube.ts'
import { releaseOf } from '../contract/tenant.ts'
import type { Page } from '../docs/blocks.ts'
import { type CiSystem, ciSystems } from './ci-claims.ts'

export const AUDIENCE = 'https://mintonce.example.org'
const NAMESPACE = 'tenant-acme'

export type SystemName = keyof typeof ciSystems
export const SYSTEMS = Object.keys(ciSystems) as readonly SystemName[]

/** The function as the page about CI configures it, in front of the sandbox with the page's roles. */
export interface CiPlace {
  readonly backend: Backend
  /** Where it listens, for scripts. */
  readonly origin: string
  /** A token of five minutes for the function, with what the page's job has, changed by these claims. */
  readonly sign: (system: SystemName, claims?: Readonly<Record<string, unknown>>) => Promise<string>
  /** What the account Secret of `postgres-orders.web` holds. */
  readonly stored: () => Promise<string>
  readonly stop: () => Promise<void>
}

export async function startCiPlace(page: Page): Promise<CiPlace> {
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  const key = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const api = await startSandboxApiServer()
  const jwt = SYSTEMS.flatMap((system) => parse(page.blocks(`${system}-config`).join('')).jwt)
  const config = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration', jwt }
  const settings = { MINTONCE_AUTHENTICATION_CONFIG: JSON.stringify(config) }
  const backend = await inProcess(api, settings, () => getOver(issuersWith(key)))
  const admin = adminOf(backend.admin)
  await order(admin)
  for (const object of rolesOf(page)) await admin.create(pathOf(object), object)
  const server = await listen(backend)
  return {
    backend,
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sign: (system, claims) => {
      const now = Math.floor(Date.now() / 1000)
      const { issuer, claims: usual }: CiSystem = ciSystems[system]
      return new SignJWT({
        ...usual,
        iss: issuer,
        aud: AUDIENCE,
        iat: now,
        nbf: now,
        exp: now + 300,
        ...claims,
      })
        .setProtectedHeader({ alg: 'RS256', kid: 'one', typ: 'JWT' })
        .sign(privateKey)
    },
    stored: async () => {
      const secret = await admin.find(`/api/v1/namespaces/${NAMESPACE}/secrets/postgres-orders.web.account`)
      return decode(secret?.data.password)
    },
    stop: async () => {
      server.close()
      await backend.stop()
    },
  }
}

/** The issuers of a configuration that stands on the page, as the function reads its file. */
export async function issuersOf(block: string) {
  const host = { readText: async () => block, parseYaml: async (yaml: string) => parse(yaml) }
  const { issuers } = await readConfig({ MINTONCE_AUTHENTICATION_CONFIG_FILE: 'from-the-page' }, host)
  return issuers
}

/** The objects of the page, the Role before what is bound to it. */
export const rolesOf = (page: Page): readonly Anything[] =>
  ['rbac', ...SYSTEMS.map((system) => `${system}-rbac`)]
    .flatMap((mark) => page.blocks(mark))
    .flatMap((block) => parseAllDocuments(block).map((document) => document.toJS()))

export const pathOf = ({ kind, metadata }: Anything): string =>
  `/apis/rbac.authorization.k8s.io/v1/namespaces/${metadata.namespace}/${kind.toLowerCase()}s`

/** Discovery and keys at the addresses that the systems have, without a network. */
function issuersWith(key: object): Fetch {
  const pages = new Map<string, object>(
    SYSTEMS.map((system) => ciSystems[system]).flatMap(({ issuer, keys }): [string, object][] => [
      [`${issuer}/.well-known/openid-configuration`, { issuer, jwks_uri: keys }],
      [keys, { keys: [key] }],
    ]),
  )
  return async ({ url }) => Response.json(pages.get(url) ?? {}, { status: pages.has(url) ? 200 : 404 })
}

async function order(admin: Admin): Promise<void> {
  const metadata = { name: NAMESPACE }
  await admin.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata })
  const path = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${NAMESPACE}/helmreleases`
  await admin.create(path, releaseOf('Postgres', 'orders', { users: { web: {}, report: {} } }))
}

async function listen({ call }: Backend) {
  const server = createServer(async (request, response) => {
    const { authorization = '', 'content-type': type = '' } = request.headers
    const body = await text(request)
    const answer = await call(request.url ?? '', {
      method: request.method ?? '',
      headers: { authorization, 'content-type': type },
      ...(body === '' ? {} : { body }),
    })
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(await answer.text())
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return server
}
