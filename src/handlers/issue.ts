import type { Caller } from '../auth/authenticator.ts'
import type { HttpAnswer, HttpRequest } from '../core/http.ts'
import { fail, type Result } from '../core/result.ts'
import { timeLimit } from '../core/time-limit.ts'
import { type Issued, issue, type Order } from '../credentials/issue.ts'
import { credentialNameOf } from '../credentials/naming.ts'
import { readState, type Target } from '../credentials/state.ts'
import { parseTarget } from './addressed.ts'
import { json, statusOf, warningHeader } from './answer.ts'
import { readBody } from './body.ts'
import { type CredentialRequest, parseCredentialRequest } from './credential-request.ts'
import { auditIdOf, callerFields, callerOf, levelOf, refuseRetryHeaders } from './identity.ts'
import { API_VERSION, type Exchange, type Services } from './services.ts'
import { emitterOf } from './sync-services.ts'

type Operation = Order['operation']

/** What became of a request, and what is known of it for the log. */
interface Outcome {
  readonly result: Result<Issued>
  readonly target?: Target
  readonly caller?: Caller
  readonly dryRun?: boolean
  readonly warnings?: readonly string[]
}

/** `POST …/credentials/{name}/mint` and `…/revoke`. */
export const issueRoute =
  (services: Services, operation: Operation) =>
  async (exchange: Exchange): Promise<HttpAnswer> => {
    const startedAt = services.deps.now()
    const outcome = await respond(services, operation, exchange)
    const answer = answerOf(services, outcome)
    const failure = outcome.result.ok ? undefined : outcome.result.failure
    services.deps.log(levelOf(answer.status, failure), 'credential', {
      operation,
      namespace: exchange.param('namespace'),
      credential: exchange.param('name'),
      ...callerFields(outcome.caller),
      auditId: auditIdOf(exchange.request.headers),
      // Only when it is one: a line without it is about a password that works.
      dryRun: outcome.dryRun === true ? true : undefined,
      code: answer.status,
      failure,
      durationMs: Math.round(services.deps.now() - startedAt),
    })
    return answer
  }

/** Each step is named, in order, and final when it fails. */
async function respond(services: Services, operation: Operation, exchange: Exchange): Promise<Outcome> {
  const { request } = exchange
  const retried = refuseRetryHeaders(request.headers)
  if (!retried.ok) return { result: retried }
  const target = parseTarget(exchange.param('namespace'), exchange.param('name'))
  if (!target.ok) return { result: target }

  const whole = timeLimit(services.deadlineMs)
  const writing = timeLimit(services.writeByMs, request.signal)
  try {
    return await attempt(services, operation, exchange, {
      target: target.value,
      deadline: whole.signal,
      signal: writing.signal,
    })
  } finally {
    whole.end()
    writing.end()
  }
}

interface Attempt {
  readonly target: Target
  /** When the write must have ended. */
  readonly deadline: AbortSignal
  /** When it must have begun, or the caller has gone. */
  readonly signal: AbortSignal
}

async function attempt(
  services: Services,
  operation: Operation,
  exchange: Exchange,
  { target, deadline, signal }: Attempt,
): Promise<Outcome> {
  const { request } = exchange
  const caller = await callerOf(services, exchange, signal)
  if (!caller.ok) return { result: caller }

  const known = { target, caller: caller.value }
  const asked = await readRequest(services, request, target, signal)
  // No time is left to ask anything: what follows would only blame the API server for that.
  if (!asked.ok && asked.failure.reason === 'caller_gone') return { ...known, result: asked }
  const [allowed, resolve] = await Promise.all([
    services.authorize(caller.value, accessOf(services, operation, target), {
      signal,
      isAskedUpstream: true,
    }),
    asked.ok ? readState(services, target, { signal }) : async () => asked,
  ])
  if (request.signal.aborted) return { ...known, result: fail({ reason: 'caller_gone' }) }
  // Nothing that was read counts before the review has allowed the request.
  if (!allowed.ok) return { ...known, result: allowed }
  if (!asked.ok) return { ...known, result: asked }
  const { dryRun } = asked.value
  const state = await resolve()
  if (!state.ok) return { ...known, dryRun, result: state }
  exchange.setKind(state.value.application.kind)

  const order = { operation, ...orderOf(asked.value, caller.value), signal, deadline }
  const emit = emitterOf(services, exchange)
  const result = await issue({ kube: services.kube, deps: services.deps, emit }, target, state.value, order)
  return { ...known, dryRun, result, warnings: asked.value.warnings }
}

async function readRequest(
  { group }: Services,
  request: HttpRequest,
  { namespace, name }: Target,
  signal: AbortSignal,
): Promise<Result<CredentialRequest>> {
  const body = await readBody(request, signal)
  if (!body.ok) return body
  const apiVersion = `${group}/${API_VERSION}`
  return parseCredentialRequest(request.query, body.value, {
    apiVersion,
    name: credentialNameOf(name),
    namespace,
  })
}

const orderOf = ({ preconditions, dryRun }: CredentialRequest, { username, impersonator }: Caller) => ({
  preconditions,
  dryRun,
  by: username,
  ...(impersonator === undefined ? {} : { impersonator }),
})

const accessOf = ({ group }: Services, operation: Operation, { namespace, name }: Target) => ({
  verb: 'create',
  group,
  resource: 'credentials',
  subresource: operation === 'Mint' ? 'mint' : 'revoke',
  namespace,
  name: credentialNameOf(name),
})

function answerOf({ group }: Services, { result, target, warnings = [] }: Outcome): HttpAnswer {
  if (!result.ok || target === undefined) {
    return statusOf(result.ok ? { reason: 'route_unknown' } : result.failure, group)
  }
  const { username, password, issuedAt } = result.value
  const body = {
    apiVersion: `${group}/${API_VERSION}`,
    kind: 'CredentialRequest',
    metadata: { name: credentialNameOf(target.name), namespace: target.namespace },
    status: { username, ...(password === undefined ? {} : { password }), issuedAt },
  }
  const said = [...warnings, ...result.value.warnings].map(warningHeader).join(', ')
  return json(body, 201, said === '' ? {} : { Warning: said })
}
