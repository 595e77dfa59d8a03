import { fail, ok, type Result } from '../core/result.ts'

export interface Query {
  readonly dryRun: boolean
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore'
}

const KNOWN = new Set(['dryRun', 'fieldManager', 'fieldValidation', 'pretty', 'timeout'])
const FIELD_VALIDATION = new Map([
  ['', 'Strict'],
  ['Strict', 'Strict'],
  ['Warn', 'Warn'],
  ['Ignore', 'Ignore'],
] as const)

/**
 * The query of a mint or revoke. kube-apiserver does not check `dryRun` for aggregated calls, and reads `?dryRun` and
 * `?dryRun=&dryRun=All` as none: all but one `All` is refused, and so is a parameter that nobody knows (`?dryrun=All`
 * would otherwise be a real mint). Fails with `request_malformed`.
 */
export function parseQuery(parameters: URLSearchParams): Result<Query> {
  const unknown = [...parameters.keys()].find((name) => !KNOWN.has(name))
  if (unknown !== undefined) return malformed(`unknown query parameter ${JSON.stringify(unknown)}`)

  const dryRun = parameters.getAll('dryRun')
  if (dryRun.length > 0 && (dryRun.length > 1 || dryRun[0] !== 'All')) {
    return malformed('dryRun must be given once, as "All", or not at all')
  }
  const given = parameters.getAll('fieldValidation')
  const fieldValidation = FIELD_VALIDATION.get((given[0] ?? '') as 'Strict')
  if (fieldValidation === undefined || given.length > 1) {
    return malformed('fieldValidation must be "Strict", "Warn" or "Ignore", given once')
  }
  return ok({ dryRun: dryRun.length > 0, fieldValidation })
}

const malformed = (message: string): Result<never> => fail({ reason: 'request_malformed', message })
