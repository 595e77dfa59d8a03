import { isObject, own, textAt, textsOf } from '../core/json.ts'
import { ok } from '../core/result.ts'
import { parseBody } from './decode.ts'
import { badRequest, invalid, type Outcome, unsupportedValue } from './status.ts'

type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions'

/** Whether the query asks for a dry run (`k8s.io/apimachinery/pkg/apis/meta/v1/validation`). */
export const readDryRun = (kind: OptionsKind, query: URLSearchParams): Outcome<boolean> =>
  dryRunOf(kind, query.getAll('dryRun'))

function dryRunOf(kind: OptionsKind, given: readonly string[]): Outcome<boolean> {
  if (given.every((value) => value === 'All')) return ok(given.length > 0)
  return invalid({ group: 'meta.k8s.io', kind }, '', [unsupportedValue('dryRun', given, ['All'])])
}

export interface DeleteOptions {
  readonly dryRun: boolean
  readonly body: unknown
}

/** The options of a delete are those of its body; only without a body do those of the query count. */
export function readDeleteOptions(text: string, query: URLSearchParams): Outcome<DeleteOptions> {
  if (text === '') {
    const dryRun = readDryRun('DeleteOptions', query)
    return dryRun.ok ? ok({ dryRun: dryRun.value, body: {} }) : dryRun
  }
  const body = parseBody('DeleteOptions', text)
  if (!body.ok) return body
  const kind = isObject(body.value) ? (textAt(body.value, 'kind') ?? 'DeleteOptions') : 'DeleteOptions'
  if (kind !== 'DeleteOptions') {
    return badRequest(
      `no kind "${kind}" is registered for version "${textAt(body.value, 'apiVersion') ?? ''}"`,
    )
  }
  const dryRun = dryRunOf('DeleteOptions', textsOf(own(body.value, 'dryRun')))
  if (!dryRun.ok) return dryRun
  const policy = textAt(body.value, 'propagationPolicy') ?? 'Background'
  const policies = ['Foreground', 'Background', 'Orphan']
  if (policies.includes(policy)) return ok({ dryRun: dryRun.value, body: body.value })
  return invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', [
    unsupportedValue('propagationPolicy', policy, [...policies, 'nil']),
  ])
}
