import { own, textAt } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { createShare } from '../core/share.ts'
import type { CallOptions, Kube } from '../k8s/kube.ts'
import type { ApplicationDefinition } from '../k8s/objects.ts'
import { parseRules } from './parse.ts'
import type { CredentialRules } from './rules.ts'
import { NO_WEBHOOKS, type Webhooks } from './webhook.ts'

/** The definitions of a cluster, as of one list. */
export interface Definitions {
  /** Every application kind that a definition names, with rules or without. */
  readonly kinds: readonly string[]
  /**
   * The rules of an application kind; undefined when no definition has that kind, or its definition no rules. Fails
   * with `definition_wrong` or `definitions_ambiguous`, for this kind only.
   */
  readonly rulesFor: (kind: string) => Result<CredentialRules | undefined>
  /** `spec.secrets` of a kind: which Secrets a tenant sees. Undefined when it is not said, or by more than one. */
  readonly secretsOf: (kind: string) => unknown
}

export interface DefinitionLookup {
  /** At most as old as the maximum age. */
  readonly load: (options?: CallOptions) => Promise<Result<Definitions>>
  /** Read now: for whoever creates or deletes by them. */
  readonly read: (options?: CallOptions) => Promise<Result<Definitions>>
  /** What `load` would answer without a call: for guesses, of what to read beside a read of them. */
  readonly atHand: () => Definitions | undefined
}

interface LookupOptions {
  readonly kube: Pick<Kube, 'listDefinitions'>
  readonly now: () => number
  readonly maxAgeMs: number
  /** How long a list is waited for. */
  readonly timeoutMs: number
  /** How this process calls the webhooks that definitions name; left out: it calls none. */
  readonly webhooks?: Webhooks
}

/**
 * Definitions are cluster-scoped and cannot be looked up by kind: one list serves every mint of the next `maxAgeMs`.
 * Callers at the same time share one list, which no single caller's signal ends; a failure is not kept. Fails with
 * `caller_gone` for a caller whose `signal` fires before the list is there.
 */
export function createDefinitionLookup({
  kube,
  now,
  maxAgeMs,
  timeoutMs,
  webhooks = NO_WEBHOOKS,
}: LookupOptions): DefinitionLookup {
  let kept: { readonly listedAt: number; readonly definitions: Definitions } | undefined
  const share = createShare<Result<Definitions>>({ now, timeoutMs })

  /** A clock that was set back makes nothing younger. */
  function isFresh(listedAt: number): boolean {
    const age = now() - listedAt
    return age >= 0 && age < maxAgeMs
  }

  async function read(options?: CallOptions): Promise<Result<Definitions>> {
    const listedAt = now()
    const listed = await kube.listDefinitions(options)
    if (!listed.ok) return listed
    const definitions = index(listed.value, webhooks)
    // One that was asked for later may have come earlier.
    if (kept === undefined || !isFresh(kept.listedAt) || kept.listedAt <= listedAt) {
      kept = { listedAt, definitions }
    }
    return ok(definitions)
  }

  const atHand = () => (kept !== undefined && isFresh(kept.listedAt) ? kept.definitions : undefined)

  return {
    read,
    atHand,
    async load({ signal } = {}) {
      const known = atHand()
      if (known !== undefined) return ok(known)
      const loaded = await share(() => read(), signal)
      if (loaded !== undefined) return loaded
      return fail(
        signal?.aborted
          ? { reason: 'caller_gone' }
          : { reason: 'kube_timeout', call: 'list ApplicationDefinitions' },
      )
    },
  }
}

function index(definitions: readonly ApplicationDefinition[], webhooks: Webhooks): Definitions {
  const byKind = Map.groupBy(definitions, ({ spec }) => textAt(spec, 'application', 'kind'))
  const parsed = new Map<string, Result<CredentialRules | undefined>>()
  return {
    kinds: [...byKind.keys()].filter((kind) => kind !== undefined),
    rulesFor(kind) {
      const known = parsed.get(kind) ?? rulesOf(kind, byKind.get(kind) ?? [], webhooks)
      parsed.set(kind, known)
      return known
    },
    secretsOf(kind) {
      const [definition, second] = byKind.get(kind) ?? []
      return second === undefined ? own(definition?.spec, 'secrets') : undefined
    },
  }
}

function rulesOf(
  kind: string,
  found: readonly ApplicationDefinition[],
  webhooks: Webhooks,
): Result<CredentialRules | undefined> {
  const [definition, second] = found
  if (definition === undefined) return ok(undefined)
  if (second === undefined) return parseRules(definition, webhooks)
  const definitions = found.map(({ metadata }) => metadata.name)
  return fail({ reason: 'definitions_ambiguous', kind, definitions })
}
