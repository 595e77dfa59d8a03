import { createHmac } from 'node:crypto'
import { binary, reference, structured } from './cloud-events.ts'
import { maybe, NASTY, pick, type Random } from './fuzz-http.ts'

/** A request to a route that is told what happened. */
export interface HintRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface HintParts {
  readonly eventsKey: string
  readonly fluxKey: string
  /** Stands in bodies, where a password may. */
  readonly secret: string
}

const TYPES: readonly [string, ...string[]] = [
  'dev.knative.apiserver.ref.add',
  'dev.knative.apiserver.ref.update',
  'dev.knative.apiserver.resource.update',
  'dev.knative.apiserver.resource.delete',
  'dev.knative.sources.ping',
  'com.example.other',
]
const CONTENT_TYPES: readonly [string, ...string[]] = [
  'application/cloudevents+json',
  'application/cloudevents-batch+json',
  'application/cloudevents+xml',
  'application/json',
  'text/plain',
]

/** A value with now and then a part of it replaced, repeated, put deeper or taken away. */
function bend(random: Random, value: unknown): unknown {
  if (random() < 0.06) {
    return pick<unknown>(random, [
      pick(random, NASTY),
      null,
      -1,
      true,
      [],
      {},
      [value],
      { metadata: value },
      [value, value],
      JSON.parse(`{"__proto__":${JSON.stringify(value ?? null)}}`),
    ])
  }
  if (Array.isArray(value)) return value.map((item) => bend(random, item))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(() => random() > 0.02)
  return Object.fromEntries(
    entries.map(([name, item]) => [maybe(random, name, 0.02), bend(random, item)] as const),
  )
}

type Subject = Pick<typeof reference, 'namespace' | 'name'> & {
  readonly apiVersion: string
  readonly kind: string
}
/** What events may be about: applications, and what CAs are published from. */
const SUBJECTS: readonly [Subject, ...Subject[]] = [
  reference,
  { ...reference, apiVersion: 'internal.cozystack.io/v1alpha1', kind: 'TenantProjection' },
  { ...reference, apiVersion: 'v1', kind: 'Secret' },
]

const full = ({ apiVersion, kind, namespace, name }: Subject, secret: string): object => ({
  apiVersion,
  kind,
  metadata: { namespace, name, annotations: { note: secret } },
  ...(kind === 'Secret'
    ? { data: { 'ca.key': secret } }
    : { spec: { values: { users: { web: { password: secret } } } } }),
})

/** Of somebody who may send, mostly, and well-formed, mostly. */
export function fuzzedHint(random: Random, parts: HintParts): HintRequest {
  const request = random() < 0.3 ? fluxRequest(random, parts) : eventRequest(random, parts)
  return {
    ...request,
    path: random() < 0.05 ? pick(random, ['/events', '/hooks/flux', '/tick']) : request.path,
  }
}

function eventRequest(random: Random, { eventsKey, secret }: HintParts): HintRequest {
  const path = random() < 0.1 ? '/tick' : '/events'
  const subject = pick<Subject>(random, SUBJECTS)
  const data = pick<unknown>(random, [subject, full(subject, secret)])
  const bearer: Readonly<Record<string, string>> =
    random() < 0.85 ? { Authorization: `Bearer ${maybe(random, eventsKey, 0.05)}` } : {}
  if (random() < 0.4) {
    const { kind, apiVersion } = subject
    const { headers, body } = binary({ type: pick(random, TYPES), kind })
    return {
      path,
      headers: printable({
        ...bearer,
        ...bentHeaders(random, { ...headers, 'ce-apiversion': apiVersion }),
      }),
      body: maybe(random, body.replace('}', `,"note":"${secret}"}`), 0.3),
    }
  }
  const one = () => {
    const key = random() < 0.2 ? { mintoncekey: maybe(random, eventsKey, 0.2) } : {}
    return bend(
      random,
      structured(pick(random, TYPES), { ...key, data, datacontenttype: 'application/json' }),
    )
  }
  const isBatch = random() < 0.4
  const type = random() < 0.1 ? pick(random, CONTENT_TYPES) : CONTENT_TYPES[isBatch ? 1 : 0]
  const sent = isBatch ? Array.from({ length: Math.floor(random() * 4) }, one) : one()
  const headers = { ...bearer, 'content-type': maybe(random, type ?? '', 0.03) }
  return { path, headers: printable(headers), body: maybe(random, JSON.stringify(sent), 0.15) }
}

function fluxRequest(random: Random, { fluxKey, secret }: HintParts): HintRequest {
  const event = bend(random, {
    involvedObject: reference,
    severity: 'info',
    message: secret,
    metadata: { secret },
  })
  const body = maybe(random, JSON.stringify(event), 0.15)
  const key = maybe(random, fluxKey, 0.1)
  const signature = `sha256=${createHmac('sha256', key).update(body).digest('hex')}`
  return { path: '/hooks/flux', headers: printable({ 'X-Signature': maybe(random, signature, 0.1) }), body }
}

function bentHeaders(random: Random, headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(headers).filter(() => random() > 0.02)
  return Object.fromEntries(kept.map(([name, value]) => [name, maybe(random, value, 0.08)]))
}

/** As far as a `Request` takes them. */
const printable = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.replace(/[^\t\x20-\x7e\x80-\xff]/g, '')]),
  )
