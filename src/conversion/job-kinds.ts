import { textAt } from '../core/json.ts'
import { ok, type Result } from '../core/result.ts'
import { readBlock, type Wrong } from '../definitions/block.ts'
import type { Webhooks } from '../definitions/webhook.ts'
import type { ApplicationDefinition } from '../k8s/objects.ts'
import { type ConvertedKind, type FileDefinition, kindsToConvert } from './definitions.ts'

/**
 * How the credentials of recorded kinds are made, by kind: as a file says, and for a kind without one as the cluster's own
 * definition does, which may have come with the charts. A kind that neither knows is left out. Fails as
 * `kindsToConvert` does, for what is recorded only: no other definition concerns a conversion.
 */
export function kindsOfRecord(
  recorded: ReadonlySet<string>,
  files: readonly FileDefinition[],
  inCluster: readonly ApplicationDefinition[],
  hosts: Webhooks['hosts'],
): Result<ReadonlyMap<string, ConvertedKind>> {
  const inFiles = new Set(files.map(({ definition }) => kindOf(definition)))
  const served = inCluster
    .filter((definition) => {
      const kind = kindOf(definition)
      return recorded.has(kind) && !inFiles.has(kind) && hasBlock(definition)
    })
    .map((definition) => ({ file: 'the cluster', definition }))
  const kinds = kindsToConvert([...files, ...served], inCluster, hosts)
  return kinds.ok ? ok(new Map(kinds.value.map((each) => [each.kind, each]))) : kinds
}

const kindOf = ({ spec }: ApplicationDefinition): string => textAt(spec, 'application', 'kind') ?? ''

/** One that cannot be read is a block. */
function hasBlock(definition: ApplicationDefinition): boolean {
  const wrong: Wrong = (field, problem) => ({
    ok: false,
    failure: { reason: 'definition_wrong', definition: definition.metadata.name, field, problem },
  })
  const block = readBlock(definition, wrong)
  return !block.ok || block.value !== undefined
}
