import type { Deps, Fetch } from '../core/deps.ts'
import { own, textAt } from '../core/json.ts'
import { ok } from '../core/result.ts'
import { BOOTSTRAP_OBJECTS } from './bootstrap.ts'
import { aggregateRoles, collectGarbage, emptyNamespaces } from './controllers.ts'
import { decodeObject } from './decode.ts'
import { createLister } from './list.ts'
import { apiVersionOf, RESOURCE_TYPES } from './objects.ts'
import type { Identity } from './rbac.ts'
import { respond, type Server } from './respond.ts'
import { ANONYMOUS, API_AUDIENCES, authenticate, type TokenOf } from './reviews.ts'
import { answerRefused, type Outcome, unauthorized } from './status.ts'
import { createStore } from './store.ts'
import { create, update } from './write.ts'

/**
 * The part of the Kubernetes API that this project uses, in memory, behind the seam that reaches a real one. Schemas of
 * custom resources are not checked, there is no watch, and patches are JSON merge patches and JSON patches.
 */
export interface Sandbox {
  /** As somebody, with the rights that RBAC gives them. */
  readonly fetchAs: (identity: Identity) => Fetch
  /** As a cluster administrator (group `system:masters`). */
  readonly admin: Fetch
  /** As whoever the bearer token stands for: 401 for one that is not known, anonymous without one. */
  readonly fetch: Fetch
  readonly addToken: (token: string, of: TokenOf) => void
  /** What the garbage collector does within a second; a delete does it at once. */
  readonly collect: () => void
  /** Makes every `continue` token that was handed out answer 410. */
  readonly expireContinueTokens: () => void
  /** Whether the CRD of ApplicationDefinition keeps `spec.credentials`, as the shipped patch makes it. */
  readonly setDefinitionPatched: (patched: boolean) => void
}

interface SandboxOptions extends Pick<Deps, 'now' | 'randomBytes'> {
  /** Created in this order, as by an administrator, their `status` included. */
  readonly manifests: readonly object[]
  /** Whether the CRD of ApplicationDefinition keeps `spec.credentials`. */
  readonly crdPatched?: boolean
  /** Whether the garbage collector looks after every write: a stale owner then takes its object with it at once. */
  readonly collectsOnWrite?: boolean
}

const ADMIN: Identity = { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] }

/** Throws when a manifest is refused. */
export function createSandbox(options: SandboxOptions): Sandbox {
  const { manifests, crdPatched = true, collectsOnWrite = false } = options
  const store = createStore(options)
  const lister = createLister(store)
  const server: Server = {
    store,
    lister,
    tokens: new Map(),
    isDefinitionPatched: crdPatched,
    collectsOnWrite,
  }
  for (const manifest of [...BOOTSTRAP_OBJECTS, ...manifests]) load(server, manifest)
  aggregateRoles(store)

  const fetchAs = (identity: Identity): Fetch => {
    const known = authenticated(identity)
    return (request) => respond(server, known, request)
  }
  return {
    fetchAs,
    admin: fetchAs(ADMIN),
    fetch: async (request) => {
      const identity = identityOf(server, request)
      return identity.ok ? fetchAs(identity.value)(request) : answerRefused(identity)
    },
    addToken: (token, of) => {
      server.tokens.set(token, of)
    },
    collect: () => {
      emptyNamespaces(store)
      collectGarbage(store)
    },
    expireContinueTokens: lister.expire,
    setDefinitionPatched: (patched) => {
      server.isDefinitionPatched = patched
    },
  }
}

/** Every authenticator adds the group of the authenticated. */
const authenticated = (identity: Identity): Identity =>
  identity === ANONYMOUS || identity.groups.includes('system:authenticated')
    ? identity
    : { ...identity, groups: [...identity.groups, 'system:authenticated'] }

function identityOf({ store, tokens }: Server, { headers }: Request): Outcome<Identity> {
  const header = headers.get('authorization')
  if (header === null) return ok(ANONYMOUS)
  const token = /^Bearer (\S+)$/i.exec(header)?.[1] ?? ''
  const found = authenticate(tokens, token, API_AUDIENCES, store.now())
  return 'error' in found ? unauthorized() : ok(found.user)
}

function load({ store }: Server, manifest: object): void {
  const type = RESOURCE_TYPES.find(
    (each) => each.kind === own(manifest, 'kind') && apiVersionOf(each) === own(manifest, 'apiVersion'),
  )
  if (type === undefined) throw new TypeError(`the sandbox stores no ${String(own(manifest, 'kind'))}`)
  const namespace = type.namespaced ? (textAt(manifest, 'metadata', 'namespace') ?? '') : ''
  const sent = decodeObject(type, namespace, manifest)
  const created = sent.ok ? create(store, { type, namespace }, sent.value, false) : sent
  if (!created.ok) throw new TypeError(`${type.kind}: ${created.refusal.message}`)
  if (type.newStatus === undefined || !sent.ok || sent.value.status === undefined) return
  const { metadata } = created.value
  const target = { type, namespace, name: metadata.name, isStatus: true }
  update(store, target, { ...sent.value, metadata }, false)
}
