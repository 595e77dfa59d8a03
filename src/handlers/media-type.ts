import { fail, ok, type Result } from '../core/result.ts'

export type Representation = 'object' | 'table'

/** One entry of an Accept header (RFC 9110, section 12.5.1), with Kubernetes' parameters. */
interface MediaRange {
  readonly type: string
  readonly quality: number
  readonly parameters: ReadonlyMap<string, string>
}

/**
 * Chooses what a get or list answers: of the entries of `Accept` that are served the one of the highest quality, and the first
 * of equals, as kube-apiserver chooses (`k8s.io/apiserver/pkg/endpoints/handlers/negotiation`). Fails with `not_acceptable`.
 */
export function negotiate(accept: string | null): Result<Representation> {
  if (accept === null || accept.trim() === '') return ok('object')
  const ranges = accept.split(',').map(parseRange)
  for (const range of ranges.toSorted((a, b) => b.quality - a.quality)) {
    const served = representationOf(range)
    if (served !== undefined) return ok(served)
  }
  return fail({ reason: 'not_acceptable' })
}

function representationOf({ type, quality, parameters }: MediaRange): Representation | undefined {
  if (type !== 'application/json' && type !== 'application/*' && type !== '*/*') return undefined
  if (quality === 0) return undefined
  const as = parameters.get('as')
  if (as === undefined) return 'object'
  if (type !== 'application/json' || as !== 'Table') return undefined
  return parameters.get('g') === 'meta.k8s.io' && parameters.get('v') === 'v1' ? 'table' : undefined
}

function parseRange(text: string): MediaRange {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim())
  const pairs = rest.map((parameter): [string, string] => {
    const [name = '', value = ''] = parameter.split('=', 2)
    return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, '$1')]
  })
  const parameters = new Map(pairs)
  return { type: type.toLowerCase(), quality: qualityOf(parameters.get('q')), parameters }
}

/** RFC 9110, section 12.4.2. What is no quality counts as none given. */
function qualityOf(q: string | undefined): number {
  return q !== undefined && /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(q) ? Number(q) : 1
}
