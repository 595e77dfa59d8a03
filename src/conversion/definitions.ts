import { isSameJson, type Json, own, textAt } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { ROOT, readBlock, type Wrong } from '../definitions/block.ts'
import { parseRules } from '../definitions/parse.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import type { Webhooks } from '../definitions/webhook.ts'
import type { ApplicationDefinition } from '../k8s/objects.ts'

/** A definition out of a file. */
export interface FileDefinition {
  readonly file: string
  readonly definition: ApplicationDefinition
}

/** A kind that is to be converted, and by which rules. */
export interface ConvertedKind {
  readonly kind: string
  readonly rules: CredentialRules
  /** Its format or one of its sources is a webhook: nothing of it can be converted here. */
  readonly needsWebhook: boolean
}

/**
 * The kinds of definitions that come out of files, since a cluster that is to be converted has no block yet. Where it
 * has one it is that which counts, and it must say the same. Fails with `definition_wrong` or `definitions_ambiguous`
 * with the file or the definition that is wrong: nobody could tell what the charts will read.
 */
export function kindsToConvert(
  files: readonly FileDefinition[],
  inCluster: readonly ApplicationDefinition[],
  hosts: Webhooks['hosts'],
): Result<readonly ConvertedKind[]> {
  const kinds: ConvertedKind[] = []
  for (const [kind, found] of Map.groupBy(files, ({ definition }) => kindOf(definition))) {
    const [first, second] = found
    if (first === undefined) continue
    if (second !== undefined) {
      return fail({ reason: 'definitions_ambiguous', kind, definitions: found.map(placeOf) })
    }
    const cluster = inCluster.filter((each) => kindOf(each) === kind)
    const read = kindOfFile(kind, first, cluster, hosts)
    if (!read.ok) return read
    kinds.push(read.value)
  }
  return ok(kinds)
}

const kindOf = ({ spec }: ApplicationDefinition): string => textAt(spec, 'application', 'kind') ?? ''

const placeOf = ({ file, definition }: FileDefinition): string => `${definition.metadata.name} in ${file}`

function kindOfFile(
  kind: string,
  ofFile: FileDefinition,
  inCluster: readonly ApplicationDefinition[],
  hosts: Webhooks['hosts'],
): Result<ConvertedKind> {
  const wrong: Wrong = (field, problem) =>
    fail({ reason: 'definition_wrong', definition: placeOf(ofFile), field, problem })
  if (kind === '') return wrong('spec.application.kind', 'required')
  const block = readBlock(ofFile.definition, wrong)
  if (!block.ok) return block
  if (block.value === undefined) return wrong(ROOT, 'required: it says what is to be converted')
  const webhooks: Webhooks = { hosts, ask: async () => ({ ok: false, why: 'a conversion asks no webhook' }) }
  const ownRules = parseRules(named(ofFile), webhooks)
  if (!ownRules.ok) return ownRules
  const served = servedIn(kind, inCluster, block.value, ofFile)
  if (!served.ok) return served
  const rules = served.value === undefined ? ownRules : parseRules(served.value, webhooks)
  if (!rules.ok) return rules
  if (rules.value === undefined) return wrong(ROOT, 'required')
  return ok({ kind, rules: rules.value, needsWebhook: needsWebhook(block.value) })
}

/** With the file in what is said of it. */
const named = (ofFile: FileDefinition): ApplicationDefinition => ({
  ...ofFile.definition,
  metadata: { ...ofFile.definition.metadata, name: placeOf(ofFile) },
})

/** The cluster's own definition of a kind, when it has a block that says the same. Undefined when none has one. */
function servedIn(
  kind: string,
  inCluster: readonly ApplicationDefinition[],
  block: Json,
  ofFile: FileDefinition,
): Result<ApplicationDefinition | undefined> {
  const served: ApplicationDefinition[] = []
  for (const definition of inCluster) {
    const { name } = definition.metadata
    const wrong: Wrong = (field, problem) =>
      fail({ reason: 'definition_wrong', definition: `${name} in the cluster`, field, problem })
    const own = readBlock(definition, wrong)
    if (!own.ok) return own
    if (own.value === undefined) continue
    if (!isSameJson(own.value, block)) return wrong(ROOT, `differs from that of ${placeOf(ofFile)}`)
    served.push(definition)
  }
  if (served.length > 1) {
    return fail({
      reason: 'definitions_ambiguous',
      kind,
      definitions: served.map(({ metadata }) => metadata.name),
    })
  }
  return ok(served[0])
}

function needsWebhook(block: Json): boolean {
  const accounts = own(block, 'accounts')
  const isWebhook = (value: unknown) => textAt(value, 'kind') === 'Webhook'
  return isWebhook(own(block, 'format')) || (Array.isArray(accounts) && accounts.some(isWebhook))
}
