import type { Access, Failure } from '../core/failure.ts'
import type { HttpAnswer } from '../core/http.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { credentialNameOf, secretNameOf } from '../credentials/naming.ts'
import { ACCOUNT_SELECTOR, type CredentialView, viewOf } from '../credentials/view.ts'
import type { ListOptions } from '../k8s/kube.ts'
import { parseNamespace, parseTarget } from './addressed.ts'
import { json, statusOf } from './answer.ts'
import { callerOf, levelOf, unlessGone } from './identity.ts'
import { parseListQuery } from './list-query.ts'
import { negotiate, type Representation } from './media-type.ts'
import { API_VERSION, type Exchange, type Services } from './services.ts'
import { tableOf } from './table.ts'

/** `GET …/credentials/{name}`: reads the account Secret only, so that a broken definition hides nothing. */
export const getRoute =
  (services: Services) =>
  async (exchange: Exchange): Promise<HttpAnswer> => {
    const read = await get(services, exchange)
    if (!read.ok) return refuse(services, exchange, read.failure)
    const { view, as } = read.value
    exchange.setKind(view.spec.application.kind)
    if (as === 'object') return json({ ...typeOf(services, 'Credential'), ...view })
    return json(table(services, exchange, [view], { resourceVersion: view.metadata.resourceVersion }))
  }

/** `GET …/credentials`: of one namespace. */
export const listRoute =
  (services: Services) =>
  async (exchange: Exchange): Promise<HttpAnswer> => {
    const read = await list(services, exchange)
    if (!read.ok) return refuse(services, exchange, read.failure)
    const { views, metadata, as } = read.value
    if (as === 'table') return json(table(services, exchange, views, metadata))
    const items = views.map((view) => ({ ...typeOf(services, 'Credential'), ...view }))
    return json({ ...typeOf(services, 'CredentialList'), metadata, items })
  }

/** The log has the whole failure, the caller its public part. */
function refuse({ deps, group }: Services, exchange: Exchange, failure: Failure): HttpAnswer {
  const answer = statusOf(failure, group)
  deps.log(levelOf(answer.status, failure), 'refused', {
    path: exchange.request.path,
    code: answer.status,
    failure,
  })
  return answer
}

async function get(
  services: Services,
  exchange: Exchange,
): Promise<Result<{ readonly view: CredentialView; readonly as: Representation }>> {
  const target = parseTarget(exchange.param('namespace'), exchange.param('name'))
  if (!target.ok) return target
  const { namespace, name } = target.value
  const credential = credentialNameOf(name)
  const allowed = await allow(services, exchange, { verb: 'get', namespace, name: credential })
  if (!allowed.ok) return allowed
  const as = representationOf(exchange)
  if (!as.ok) return as

  const secret = await services.kube.getSecret(namespace, secretNameOf(name), {
    signal: exchange.request.signal,
  })
  if (!secret.ok) return secret
  const view = secret.value === undefined ? undefined : viewOf(secret.value)
  if (view === undefined) return fail({ reason: 'credential_not_found', name: credential })
  return ok({ view, as: as.value })
}

interface Listed {
  readonly views: readonly CredentialView[]
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly as: Representation
}

async function list(services: Services, exchange: Exchange): Promise<Result<Listed>> {
  const namespace = parseNamespace(exchange.param('namespace'))
  if (!namespace.ok) return namespace
  const query = parseListQuery(exchange.request.query)
  if (!query.ok) return query
  const { labelSelector, exactName, ...rest } = query.value
  const named = exactName === undefined ? {} : { name: exactName }
  const allowed = await allow(services, exchange, { verb: 'list', namespace: namespace.value, ...named })
  if (!allowed.ok) return allowed
  const as = representationOf(exchange)
  if (!as.ok) return as

  const selector = labelSelector === '' ? ACCOUNT_SELECTOR : `${ACCOUNT_SELECTOR},${labelSelector}`
  const options: ListOptions = { ...rest, labelSelector: selector, signal: exchange.request.signal }
  const page = await services.kube.listSecrets(namespace.value, options)
  if (!page.ok) return page
  const { items, resourceVersion, continue: next } = page.value
  const metadata = { resourceVersion, ...(next === undefined ? {} : { continue: next }) }
  return ok({ views: items.map(viewOf).filter((view) => view !== undefined), metadata, as: as.value })
}

async function allow(
  services: Services,
  exchange: Exchange,
  access: Pick<Access, 'verb' | 'namespace' | 'name'>,
): Promise<Result<undefined>> {
  const { signal } = exchange.request
  const caller = await callerOf(services, exchange, signal)
  if (!caller.ok) return caller
  const allowed = await services.authorize(
    caller.value,
    { group: services.group, resource: 'credentials', ...access },
    { signal, isAskedUpstream: true },
  )
  return allowed.ok ? allowed : unlessGone(exchange.request, allowed)
}

const typeOf = ({ group }: Services, kind: string) => ({ apiVersion: `${group}/${API_VERSION}`, kind })

const representationOf = (exchange: Exchange): Result<Representation> => {
  const include = exchange.request.query.get('includeObject') ?? ''
  if (include !== '' && !INCLUDE.has(include)) {
    return fail({
      reason: 'request_malformed',
      message: 'includeObject must be "None", "Metadata" or "Object"',
    })
  }
  return negotiate(exchange.request.headers.get('Accept'))
}

const INCLUDE: ReadonlyMap<string, 'None' | 'Metadata' | 'Object'> = new Map([
  ['None', 'None'],
  ['Metadata', 'Metadata'],
  ['Object', 'Object'],
])

const table = (
  services: Services,
  exchange: Exchange,
  views: readonly CredentialView[],
  metadata: Listed['metadata'],
): unknown =>
  tableOf(views, metadata, {
    apiVersion: `${services.group}/${API_VERSION}`,
    includeObject: INCLUDE.get(exchange.request.query.get('includeObject') ?? '') ?? 'Metadata',
    now: services.deps.now(),
  })
