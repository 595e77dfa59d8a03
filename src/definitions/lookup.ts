import { textAt } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { CallOptions, Kube } from '../k8s/kube.ts'
import type { ApplicationDefinition } from '../k8s/objects.ts'
import { parseRules } from './parse.ts'
import type { CredentialRules } from './rules.ts'

/** The definitions of a cluster, as of one list. */
export interface Definitions {
  /**
   * The rules of an application kind; undefined when no definition has that kind, or its definition no rules. Fails
   * with `definition_wrong` or `definitions_ambiguous`, for this kind only.
   */
  readonly rulesFor: (kind: string) => Result<CredentialRules | undefined>
}

export interface DefinitionLookup {
  readonly load: (options?: CallOptions) => Promise<Result<Definitions>>
}

interface LookupOptions {
  readonly kube: Pick<Kube, 'listDefinitions'>
  readonly now: () => number
  readonly maxAgeMs: number
}

/**
 * Definitions are cluster-scoped and cannot be looked up by kind: one list serves every mint of the next `maxAgeMs`.
 * Callers at the same time share one list, which no single caller's signal ends; a failure is not kept.
 */
export function createDefinitionLookup({ kube, now, maxAgeMs }: LookupOptions): DefinitionLookup {
  let kept: { readonly until: number; readonly definitions: Definitions } | undefined
  let loading: Promise<Result<Definitions>> | undefined

  async function list(): Promise<Result<Definitions>> {
    const startedAt = now()
    const listed = await kube.listDefinitions().finally(() => {
      loading = undefined
    })
    if (!listed.ok) return listed
    const definitions = index(listed.value)
    kept = { until: startedAt + maxAgeMs, definitions }
    return ok(definitions)
  }

  return {
    async load() {
      if (kept !== undefined && now() < kept.until) return ok(kept.definitions)
      loading ??= list()
      return loading
    },
  }
}

function index(definitions: readonly ApplicationDefinition[]): Definitions {
  const byKind = new Map<string, ApplicationDefinition[]>()
  for (const definition of definitions) {
    const kind = textAt(definition.spec, 'application', 'kind')
    if (kind === undefined) continue
    byKind.set(kind, [...(byKind.get(kind) ?? []), definition])
  }
  const parsed = new Map<string, Result<CredentialRules | undefined>>()
  return {
    rulesFor(kind) {
      const known = parsed.get(kind) ?? rulesOf(kind, byKind.get(kind) ?? [])
      parsed.set(kind, known)
      return known
    },
  }
}

function rulesOf(kind: string, found: readonly ApplicationDefinition[]): Result<CredentialRules | undefined> {
  const [definition, second] = found
  if (definition === undefined) return ok(undefined)
  if (second === undefined) return parseRules(definition)
  const definitions = found.map(({ metadata }) => metadata.name)
  return fail({ reason: 'definitions_ambiguous', kind, definitions })
}
