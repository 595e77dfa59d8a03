import { fail, ok, type Result } from '../core/result.ts'

export type Representation = 'object' | 'table'

/** One entry of an Accept header (RFC 9110, section 12.5.1), with Kubernetes' parameters. */
interface MediaRange {
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
}

/**
 * Chooses what a get or list answers: the first entry of `Accept` that is served, as kube-apiserver chooses
 * (`k8s.io/apiserver/pkg/endpoints/handlers/negotiation`). Fails with `not_acceptable`.
 */
export function negotiate(accept: string | null): Result<Representation> {
  if (accept === null || accept.trim() === '') return ok('object')
  for (const range of accept.split(',').map(parseRange)) {
    const served = representationOf(range)
    if (served !== undefined) return ok(served)
  }
  return fail({ reason: 'not_acceptable' })
}

function representationOf({ type, parameters }: MediaRange): Representation | undefined {
  if (type !== 'application/json' && type !== 'application/*' && type !== '*/*') return undefined
  if (parameters.get('q') === '0') return undefined
  const as = parameters.get('as')
  if (as === undefined) return 'object'
  if (type !== 'application/json' || as !== 'Table') return undefined
  return parameters.get('g') === 'meta.k8s.io' && parameters.get('v') === 'v1' ? 'table' : undefined
}

function parseRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim())
  const pairs = parameters.map((parameter): [string, string] => {
    const [name = '', value = ''] = parameter.split('=', 2)
    return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, '$1')]
  })
  return { type: type.toLowerCase(), parameters: new Map(pairs) }
}
