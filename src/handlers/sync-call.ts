import type { Caller } from '../auth/authenticator.ts'
import type { Cause } from '../core/failure.ts'
import type { HttpAnswer, HttpRequest } from '../core/http.ts'
import { isObject, parseJson } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { fromUtf8 } from '../core/text.ts'
import { timeLimit } from '../core/time-limit.ts'
import { isDnsSubdomain } from '../k8s/names.ts'
import { parseNamespace } from './addressed.ts'
import { json, statusOf } from './answer.ts'
import { readBody } from './body.ts'
import { auditIdOf, callerFields, callerOf, levelOf, unlessGone } from './identity.ts'
import { parseQuery } from './query.ts'
import type { Exchange, Services } from './services.ts'

/** What a path names: `…/namespaces/{namespace}/{resource}/{name}/sync`. */
export interface Named {
  readonly namespace: string
  readonly name: string
}

/** What a call has done. */
export interface Done {
  readonly message: string
  readonly causes: readonly Cause[]
  /** For the log. */
  readonly fields: Readonly<Record<string, unknown>>
}

export interface Asked {
  readonly caller: Caller
  readonly signal: AbortSignal
}

/** A subresource `sync` of one resource. */
interface SyncCall<P> {
  readonly resource: string
  /** In the singular, for a person. */
  readonly kind: string
  /** What the path and the log call its name. */
  readonly param: string
  /** Reads beside the access review. Nothing that was read counts before that has allowed the request. */
  readonly prepare: (named: Named, options: { readonly signal: AbortSignal }) => Promise<Result<P>>
  readonly perform: (exchange: Exchange, named: Named, prepared: P, asked: Asked) => Promise<Result<Done>>
}

/** What became of a call, and what is known of it for the log. */
interface Outcome {
  readonly result: Result<Done>
  readonly caller?: Caller
}

/**
 * `POST …/{resource}/{name}/sync`, for whoever may `create` that: brings something in step, and answers a Status that
 * says what was done. Idempotent, so that a client or proxy may send it twice.
 */
export const syncCallRoute =
  <P>(services: Services, call: SyncCall<P>) =>
  async (exchange: Exchange): Promise<HttpAnswer> => {
    const startedAt = services.deps.now()
    const { result, caller } = await respond(services, call, exchange)
    const name = exchange.param(call.param)
    const answer = result.ok
      ? json(successOf({ name, group: services.group, kind: call.resource }, result.value))
      : statusOf(result.failure, services.group)
    services.deps.log(levelOf(answer.status, result.ok ? undefined : result.failure), 'sync', {
      operation: 'Sync',
      namespace: exchange.param('namespace'),
      [call.param]: name,
      ...callerFields(caller),
      auditId: auditIdOf(exchange.request.headers),
      code: answer.status,
      ...(result.ok ? result.value.fields : { failure: result.failure }),
      durationMs: Math.round(services.deps.now() - startedAt),
    })
    return answer
  }

async function respond<P>(services: Services, call: SyncCall<P>, exchange: Exchange): Promise<Outcome> {
  const target = targetOf(exchange, call)
  if (!target.ok) return { result: target }
  const { signal, end } = timeLimit(services.deadlineMs, exchange.request.signal)
  return answerTo(services, call, exchange, target.value, signal).finally(end)
}

/** Each step is named, in order, and final when it fails. */
async function answerTo<P>(
  services: Services,
  call: SyncCall<P>,
  exchange: Exchange,
  target: Named,
  signal: AbortSignal,
): Promise<Outcome> {
  const caller = await callerOf(services, exchange, signal)
  if (!caller.ok) return { result: caller }

  const known = { caller: caller.value }
  const access = {
    verb: 'create',
    group: services.group,
    resource: call.resource,
    subresource: 'sync',
    ...target,
  }
  const asked = await readRequest(exchange.request, signal)
  const [allowed, prepared] = await Promise.all([
    services.authorize(caller.value, access, { signal, isAskedUpstream: true }),
    asked.ok ? call.prepare(target, { signal }) : asked,
  ])
  if (!allowed.ok) return { ...known, result: unlessGone(exchange.request, allowed) }
  if (!prepared.ok) return { ...known, result: prepared }
  const result = await call.perform(exchange, target, prepared.value, { caller: caller.value, signal })
  return { ...known, result }
}

function targetOf(
  exchange: Exchange,
  { kind, param }: Pick<SyncCall<unknown>, 'kind' | 'param'>,
): Result<Named> {
  const namespace = parseNamespace(exchange.param('namespace'))
  if (!namespace.ok) return namespace
  const name = exchange.param(param)
  if (isDnsSubdomain(name)) return ok({ namespace: namespace.value, name })
  return fail({
    reason: 'request_malformed',
    message: `the ${kind} in the path is no DNS-1123 subdomain`,
  })
}

/** There is nothing to say in a body; some clients send `{}` all the same. */
async function readRequest(request: HttpRequest, signal: AbortSignal): Promise<Result<undefined>> {
  const query = parseQuery(request.query)
  if (!query.ok) return query
  if (query.value.dryRun) return fail({ reason: 'request_malformed', message: 'dryRun is not supported' })
  const body = await readBody(request, signal)
  if (!body.ok) return body
  if (body.value.length === 0 || isObject(parseJson(fromUtf8(body.value) ?? ''))) return ok(undefined)
  return fail({ reason: 'request_malformed', message: 'the body must be empty or a JSON object' })
}

/** `metav1.Status`. */
const successOf = (details: object, { message, causes }: Done) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  message,
  details: { ...details, causes },
  code: 200,
})
