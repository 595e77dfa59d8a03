import { fail, ok, type Result } from '../core/result.ts'
import { exactNameIn, parseFieldSelector, parseLabelSelector } from './selectors.ts'

interface ListQuery {
  readonly labelSelector: string
  readonly fieldSelector?: string
  /** The only Credential that the selector allows, if it names one. */
  readonly exactName?: string
  readonly limit?: number
  readonly continue?: string
}

const ONCE = ['labelSelector', 'fieldSelector', 'limit', 'continue', 'watch', 'resourceVersionMatch']
/** Every list is of the newest state, which is "not older than" whatever was asked. */
const SERVED_MATCH = new Set(['', 'NotOlderThan'])

/**
 * The query of a list. Fails with `request_malformed`, or with `method_not_allowed` for a watch: access to one is
 * another verb, and there is none. Unknown parameters are ignored, as kube-apiserver does.
 */
export function parseListQuery(parameters: URLSearchParams): Result<ListQuery> {
  const repeated = ONCE.find((name) => parameters.getAll(name).length > 1)
  if (repeated !== undefined) return malformed(`${repeated} may be given once only`)
  if (isTrue(parameters.get('watch'))) {
    return fail({
      reason: 'method_not_allowed',
      allow: ['GET'],
      message: 'watch is not supported on credentials: get or list them again',
    })
  }
  if (!SERVED_MATCH.has(parameters.get('resourceVersionMatch') ?? '')) {
    return malformed(
      'resourceVersionMatch must be "NotOlderThan" or left out: lists are always of the newest state',
    )
  }
  const labelSelector = parseLabelSelector(parameters.get('labelSelector') ?? '')
  if (!labelSelector.ok) return labelSelector
  const fieldSelector = parseFieldSelector(parameters.get('fieldSelector') ?? '')
  if (!fieldSelector.ok) return fieldSelector
  const exactName = exactNameIn(parameters.get('fieldSelector') ?? '')
  const window = parseWindow(parameters)
  if (!window.ok) return window
  return ok({
    labelSelector: labelSelector.value,
    ...(fieldSelector.value === '' ? {} : { fieldSelector: fieldSelector.value }),
    ...(exactName === undefined ? {} : { exactName }),
    ...window.value,
  })
}

function parseWindow(parameters: URLSearchParams): Result<Pick<ListQuery, 'limit' | 'continue'>> {
  const limit = parameters.get('limit') ?? ''
  const next = parameters.get('continue') ?? ''
  if (!/^\d{0,9}$/.test(limit)) return malformed('limit must be a whole number')
  return ok({
    ...(Number(limit) === 0 ? {} : { limit: Number(limit) }),
    ...(next === '' ? {} : { continue: next }),
  })
}

/** As kube-apiserver reads query parameters (`k8s.io/apimachinery/pkg/runtime/conversion.go`): `?watch=` is a yes. */
const isTrue = (value: string | null): boolean =>
  value !== null && value !== '0' && value.toLowerCase() !== 'false'

const malformed = (message: string): Result<never> => fail({ reason: 'request_malformed', message })
