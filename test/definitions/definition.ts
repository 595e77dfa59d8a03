import type { Json } from '../../src/core/json.ts'
import { parseRules } from '../../src/definitions/parse.ts'
import type { CredentialRules, ResolveInput } from '../../src/definitions/rules.ts'
import type { ApplicationDefinition, HelmRelease } from '../../src/k8s/objects.ts'

interface Parts {
  readonly kind?: string
  readonly name?: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly secrets?: Json
  /** As a definition holds it: JSON in a string. */
  readonly openAPISchema?: string
}

/** A definition as the platform ships it, with a block or without. */
export const definitionWith = (block: unknown, parts: Parts = {}): ApplicationDefinition => ({
  metadata: { name: parts.name ?? 'postgres', annotations: parts.annotations ?? {} },
  spec: {
    application: {
      kind: parts.kind ?? 'Postgres',
      plural: 'postgreses',
      singular: 'postgres',
      openAPISchema: parts.openAPISchema ?? '{}',
    },
    release: { prefix: 'postgres-' },
    secrets: parts.secrets ?? {
      exclude: [],
      include: [{ resourceNames: ['postgres-{{ .name }}-credentials'] }],
    },
    ...(block !== undefined && { credentials: block }),
  },
})

/** The rules of a block that must be right. */
export function rulesOf(block: unknown, parts?: Parts): CredentialRules {
  const rules = parseRules(definitionWith(block, parts))
  if (!rules.ok || rules.value === undefined) throw new Error(`no rules: ${JSON.stringify(rules)}`)
  return rules.value
}

export const releaseWith = (values: unknown, valuesFrom?: unknown): HelmRelease => ({
  metadata: { name: 'postgres-orders', namespace: 'tenant-acme', uid: 'f3b8' },
  spec: { ...(values !== undefined && { values }), ...(valuesFrom !== undefined && { valuesFrom }) },
})

/** What a source is asked with. */
export const inputWith = (values: Json, schema?: Json): ResolveInput => ({
  values,
  schema,
  metadata: { namespace: 'tenant-acme', name: 'postgres-orders', labels: { team: 'orders' } },
})
