import { randomBytes } from 'node:crypto'
import { createApp } from '../../src/app.ts'
import { createAuthorize } from '../../src/auth/access-review.ts'
import { authorizationHeader, createAuthenticate } from '../../src/auth/authenticate.ts'
import type { Authenticator } from '../../src/auth/authenticator.ts'
import { createEventSender, type EventSenders } from '../../src/auth/event-sender.ts'
import type { Deps } from '../../src/core/deps.ts'
import { textAt } from '../../src/core/json.ts'
import { noMetrics, type RequestLabels } from '../../src/core/metrics.ts'
import { ok } from '../../src/core/result.ts'
import type { Definitions } from '../../src/definitions/lookup.ts'
import type { CredentialRules } from '../../src/definitions/rules.ts'
import type { Services } from '../../src/handlers/services.ts'
import type { Kube } from '../../src/k8s/kube.ts'
import type { Secret, StoredSecret } from '../../src/k8s/objects.ts'
import type { App } from '../../src/router.ts'
import { callApp } from './call-app.ts'
import { accountSecret, CREDENTIAL, NAMESPACE, NOW, release, rules } from './orders.ts'
import { type ScriptedKube, scriptedKube } from './scripted-kube.ts'

export const GROUP = 'core.cozystack.io'
export const CREDENTIALS = `/apis/${GROUP}/v1alpha1/namespaces/${NAMESPACE}/credentials`
export const RELEASE = `/apis/${GROUP}/v1alpha1/namespaces/${NAMESPACE}/helmreleases/postgres-orders`
export const SYNC = `${RELEASE}/sync`
export const MINT = `${CREDENTIALS}/${CREDENTIAL}/mint`
export const REVOKE = `${CREDENTIALS}/${CREDENTIAL}/revoke`
export const TOKEN = 'token-of-jane'
export const EVENTS_KEY = 'key-of-the-event-sources'
export const FLUX_KEY = 'key-of-the-notification-controller'

interface LogLine {
  readonly level: string
  readonly event: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface ScriptedApp extends ScriptedKube {
  readonly app: App
  /** As jane, unless other headers are given. */
  readonly call: (path: string, init?: RequestInit) => Promise<Response>
  readonly logged: readonly LogLine[]
  /** The requests that were counted. */
  readonly counted: readonly RequestLabels[]
  /** What was to run after the answers. */
  readonly afterwards: () => Promise<unknown>
  readonly writes: () => number
}

/** Knows jane by her token. */
const janeOnly: Authenticator = {
  name: 'jane only',
  authenticate: async ({ token }) =>
    ok(token === TOKEN ? { username: 'jane@example.org', uid: 'u-1', groups: [], extra: {} } : undefined),
}

/** The account `web` of the Postgres `orders`, with these rules, on a Kubernetes API that lets jane do everything. */
export function scriptedApp(
  script: Partial<Kube> = {},
  {
    deadlineMs = 20_000,
    writeByMs = 10_000,
    web = rules,
    source = declaresWeb,
    authenticators = [],
    eventSenders = { keys: [EVENTS_KEY], oidc: undefined },
    fluxKeys = [FLUX_KEY],
    sweep = async () => ok(undefined),
    anchors,
    now = () => NOW,
  }: {
    deadlineMs?: number
    writeByMs?: number
    web?: CredentialRules
    source?: CredentialRules['sources'][number]
    authenticators?: readonly Authenticator[]
    eventSenders?: EventSenders
    fluxKeys?: readonly string[]
    sweep?: Services['sweep']
    anchors?: Services['anchors']
    now?: () => number
  } = {},
): ScriptedApp {
  const scripted = scriptedKube({ ...serving, ...script })
  const logged: LogLine[] = []
  const counted: RequestLabels[] = []
  const after: Promise<unknown>[] = []
  const { kube } = scripted
  const definitions: Definitions = {
    kinds: ['Postgres'],
    rulesFor: (kind) => ok(kind === 'Postgres' ? { ...web, sources: [source] } : undefined),
    secretsOf: () => undefined,
  }
  const log: Deps['log'] = (level, event, fields) => logged.push({ level, event, fields })
  const app = createApp({
    group: GROUP,
    deadlineMs,
    writeByMs,
    version: '0.0.0-test',
    deps: {
      now,
      randomBytes: (length) => new Uint8Array(randomBytes(length)),
      log,
      metrics: { ...noMetrics, request: (labels) => counted.push(labels) },
    },
    kube,
    definitions: {
      load: async () => ok(definitions),
      read: async () => ok(definitions),
      atHand: () => definitions,
    },
    graceMs: 600_000,
    self: async () => ok('system:serviceaccount:mintonce:mintonce'),
    sweep,
    anchors,
    eventSender: createEventSender(eventSenders, { kube, log }),
    fluxKeys,
    authenticate: createAuthenticate([...authenticators, authorizationHeader, janeOnly]),
    authorize: createAuthorize({ kube }),
    waitsFor: () => undefined,
  })
  return {
    ...scripted,
    app,
    call: (path, init = {}) =>
      callApp(
        app,
        new Request(`http://mintonce.test${path}`, {
          headers: { Authorization: `Bearer ${TOKEN}` },
          ...init,
        }),
        { afterResponse: (work) => after.push(work()) },
      ),
    logged,
    counted,
    afterwards: () => Promise.all(after),
    writes: () => scripted.called().filter((method) => WRITES.has(method)).length,
  }
}

const WRITES: ReadonlySet<keyof Kube> = new Set(['createSecret', 'updateSecret', 'deleteSecret'])

const declaresWeb: CredentialRules['sources'][number] = {
  kind: 'Test',
  resolve: async () => ({
    ok: true,
    value: { accounts: [{ username: 'web', owner: 'tenant' }], malformed: [] },
  }),
}

const storedAs = (secret: Secret): StoredSecret => ({
  ...secret,
  metadata: { ...secret.metadata, uid: secret.metadata.uid ?? 'secret-uid-2', resourceVersion: '11' },
})

const serving: Partial<Kube> = {
  getHelmRelease: async (namespace, name) =>
    ok(namespace === NAMESPACE && name === release.metadata.name ? release : undefined),
  getSecret: async (namespace, name) => {
    const secret = accountSecret()
    return ok(namespace === NAMESPACE && name === secret.metadata.name ? secret : undefined)
  },
  listSecrets: async () => ok({ items: [accountSecret()], resourceVersion: '12' }),
  createSecret: async (secret) => ok(storedAs(secret)),
  updateSecret: async (secret) => ok(storedAs(secret)),
  deleteSecret: async () => ok(undefined),
  reviewAccess: async () => ok(true),
  createEvent: async () => ok(undefined),
  ping: async () => ok(undefined),
}

/** The password of a CredentialRequest; undefined when the answer has none. */
export const passwordOf = async (answer: Response): Promise<string | undefined> =>
  textAt(await answer.json(), 'status', 'password')

/** The message of a Status. */
export const messageOf = async (answer: Response): Promise<string | undefined> =>
  textAt(await answer.json(), 'message')
