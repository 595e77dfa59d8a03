import type { Context } from 'hono'
import type { Access, Failure } from '../core/failure.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { credentialNameOf, secretNameOf } from '../credentials/naming.ts'
import { ACCOUNT_SELECTOR, type CredentialView, viewOf } from '../credentials/view.ts'
import type { ListOptions } from '../k8s/kube.ts'
import { parseNamespace, parseTarget } from './addressed.ts'
import { json, statusOf } from './answer.ts'
import { callerOf } from './identity.ts'
import { parseListQuery } from './list-query.ts'
import { negotiate, type Representation } from './media-type.ts'
import { API_VERSION, type AppEnv, type Services } from './services.ts'
import { tableOf } from './table.ts'

/** `GET …/credentials/{name}`: reads the account Secret only, so that a broken definition hides nothing. */
export const getRoute =
  (services: Services) =>
  async (c: Context<AppEnv>): Promise<Response> => {
    const read = await get(services, c)
    if (!read.ok) return refuse(services, c, read.failure)
    const { view, as } = read.value
    c.set('kind', view.spec.application.kind)
    if (as === 'object') return json({ ...typeOf(services, 'Credential'), ...view })
    return json(table(services, c, [view], { resourceVersion: view.metadata.resourceVersion }))
  }

/** `GET …/credentials`: of one namespace. */
export const listRoute =
  (services: Services) =>
  async (c: Context<AppEnv>): Promise<Response> => {
    const read = await list(services, c)
    if (!read.ok) return refuse(services, c, read.failure)
    const { views, metadata, as } = read.value
    if (as === 'table') return json(table(services, c, views, metadata))
    const items = views.map((view) => ({ ...typeOf(services, 'Credential'), ...view }))
    return json({ ...typeOf(services, 'CredentialList'), metadata, items })
  }

/** The log has the whole failure, the caller its public part. */
function refuse({ deps, group }: Services, c: Context<AppEnv>, failure: Failure): Response {
  const answer = statusOf(failure, group)
  deps.log(answer.status < 500 ? 'info' : 'error', 'refused', {
    path: c.req.path,
    code: answer.status,
    failure,
  })
  return answer
}

async function get(
  services: Services,
  c: Context<AppEnv>,
): Promise<Result<{ readonly view: CredentialView; readonly as: Representation }>> {
  const target = parseTarget(c.req.param('namespace') ?? '', c.req.param('name') ?? '')
  if (!target.ok) return target
  const { namespace, name } = target.value
  const credential = credentialNameOf(name)
  const allowed = await allow(services, c, { verb: 'get', namespace, name: credential })
  if (!allowed.ok) return allowed
  const as = representationOf(c)
  if (!as.ok) return as

  const secret = await services.kube.getSecret(namespace, secretNameOf(name), { signal: c.req.raw.signal })
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

async function list(services: Services, c: Context<AppEnv>): Promise<Result<Listed>> {
  const namespace = parseNamespace(c.req.param('namespace') ?? '')
  if (!namespace.ok) return namespace
  const query = parseListQuery(new URL(c.req.url).searchParams)
  if (!query.ok) return query
  const { labelSelector, exactName, ...rest } = query.value
  const named = exactName === undefined ? {} : { name: exactName }
  const allowed = await allow(services, c, { verb: 'list', namespace: namespace.value, ...named })
  if (!allowed.ok) return allowed
  const as = representationOf(c)
  if (!as.ok) return as

  const selector = labelSelector === '' ? ACCOUNT_SELECTOR : `${ACCOUNT_SELECTOR},${labelSelector}`
  const options: ListOptions = { ...rest, labelSelector: selector, signal: c.req.raw.signal }
  const page = await services.kube.listSecrets(namespace.value, options)
  if (!page.ok) return page
  const { items, resourceVersion, continue: next } = page.value
  const metadata = { resourceVersion, ...(next === undefined ? {} : { continue: next }) }
  return ok({ views: items.map(viewOf).filter((view) => view !== undefined), metadata, as: as.value })
}

async function allow(
  services: Services,
  c: Context<AppEnv>,
  access: Pick<Access, 'verb' | 'namespace' | 'name'>,
): Promise<Result<undefined>> {
  const { signal } = c.req.raw
  const caller = await callerOf(services, c, signal)
  if (!caller.ok) return caller
  return services.authorize(
    caller.value,
    { group: services.group, resource: 'credentials', ...access },
    { signal, isAskedUpstream: true },
  )
}

const typeOf = ({ group }: Services, kind: string) => ({ apiVersion: `${group}/${API_VERSION}`, kind })

const representationOf = (c: Context<AppEnv>): Result<Representation> => {
  const include = c.req.query('includeObject')
  if (include !== undefined && include !== '' && !INCLUDE.has(include)) {
    return fail({
      reason: 'request_malformed',
      message: 'includeObject must be "None", "Metadata" or "Object"',
    })
  }
  return negotiate(c.req.header('Accept') ?? null)
}

const INCLUDE: ReadonlyMap<string, 'None' | 'Metadata' | 'Object'> = new Map([
  ['None', 'None'],
  ['Metadata', 'Metadata'],
  ['Object', 'Object'],
])

const table = (
  services: Services,
  c: Context<AppEnv>,
  views: readonly CredentialView[],
  metadata: Listed['metadata'],
): unknown =>
  tableOf(views, metadata, {
    apiVersion: `${services.group}/${API_VERSION}`,
    includeObject: INCLUDE.get(c.req.query('includeObject') ?? '') ?? 'Metadata',
    now: services.deps.now(),
  })
