import { fail, ok, type Result } from '../core/result.ts'

export type Representation = 'object' | 'table'

/** One entry of an Accept header (RFC 9110, section 12.5.1), with Kubernetes' parameters. */
interface MediaRange {
  readonly type: string
  readonly quality: number
  readonly parameters: ReadonlyMap<string, string>
}

/** A representation beside the plain one, and the kind that asks for it: `as`, `g` and `v` of a media range. */
export interface Conversion<T> {
  readonly representation: T
  readonly as: string
  readonly group: string
  readonly version: string
}

const TABLE: Conversion<Representation> = {
  representation: 'table',
  as: 'Table',
  group: 'meta.k8s.io',
  version: 'v1',
}

/** What a get or list answers. Fails with `not_acceptable`. */
export function negotiate(accept: string | null): Result<Representation> {
  const chosen = choose(accept, 'object', [TABLE])
  return chosen === undefined ? fail({ reason: 'not_acceptable' }) : ok(chosen)
}

/**
 * Chooses an answer: of the entries of `Accept` that are served the one of the highest quality, and the first of equals,
 * as kube-apiserver chooses (`k8s.io/apiserver/pkg/endpoints/handlers/negotiation`). Undefined when none is served.
 */
export function choose<T>(
  accept: string | null,
  plain: T,
  conversions: readonly Conversion<T>[],
): T | undefined {
  if (accept === null || accept.trim() === '') return plain
  const ranges = accept.split(',').map(parseRange)
  for (const range of ranges.toSorted((a, b) => b.quality - a.quality)) {
    const served = representationOf(range, plain, conversions)
    if (served !== undefined) return served
  }
  return undefined
}

function representationOf<T>(
  { type, quality, parameters }: MediaRange,
  plain: T,
  conversions: readonly Conversion<T>[],
): T | undefined {
  if (type !== 'application/json' && type !== 'application/*' && type !== '*/*') return undefined
  if (quality === 0) return undefined
  const as = parameters.get('as')
  if (as === undefined) return plain
  if (type !== 'application/json') return undefined
  const found = conversions.find(
    (each) => each.as === as && each.group === parameters.get('g') && each.version === parameters.get('v'),
  )
  return found?.representation
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
