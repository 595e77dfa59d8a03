import { join } from 'node:path'
import { inTurns } from '../../src/core/in-turns.ts'
import { GROUP } from '../../test/contract/backend.ts'
import { backendOf } from '../../test/contract/backends/node-process.ts'
import { createTenant, type Tenant } from '../../test/contract/tenant.ts'
import { type BareSend, createBareClient } from '../bare-client.ts'
import { interleaved, median, timed } from '../figures.ts'
import { startAsImage } from '../image-flags.ts'
import { secretOf } from '../in-step-sweep.ts'
import { type Context, SETTINGS } from './context.ts'
import { residentOf } from './memory.ts'
import { PAUSE_MS } from './mint.ts'
import { compared, type Finding, type Row, rounded } from './row.ts'

const FEW = 10
const SOME = 1000
const MANY = 10_000
const QUICK_SOME = 100
const QUICK_MANY = 300
const AT_ONCE = 16
const PAGE = 500
/** So that there are pages when there are few. */
const QUICK_PAGE = 50
/** The limit of the container that ships (knative/service.yaml). */
const LIMIT_MIB = 256
const ROUNDS = 200
const LIST_ROUNDS = 7
const CREDENTIAL = 'postgres-orders.web'

interface Place {
  readonly tenant: Tenant
  /** As its administrator, of the function. */
  readonly send: BareSend
  /** Account Secrets in the namespace. */
  readonly count: number
}

/** Namespaces with few account Secrets and with a lot of them. */
export const large: Row = {
  name: 'large',
  run: async (context) => {
    const api = await context.api()
    const entry = await startAsImage(api, SETTINGS, join(context.dist, 'node.js'))
    context.atEnd(entry.stop)
    const backend = backendOf(api, entry)
    const place = async (count: number): Promise<Place> => {
      const tenant = await createTenant(backend)
      await fillUp(tenant, count)
      const send = createBareClient({
        url: `http://127.0.0.1:${entry.port}`,
        token: tenant.tokens.admin,
      })
      return { tenant, send, count }
    }
    const few = await place(FEW)
    const some = await place(context.isQuick ? QUICK_SOME : SOME)
    const many = await place(context.isQuick ? QUICK_MANY : MANY)
    return [await mints(context, few, many), ...(await lists(context, some, many, entry.pid))]
  },
}

/** A release with one account, and beside it as many account Secrets of another as it takes. */
async function fillUp({ release, admin, namespace }: Tenant, count: number): Promise<void> {
  await release('Postgres', 'orders', { users: { web: {} } })
  const { metadata } = await release('Postgres', 'many', { users: {} })
  const names = Array.from({ length: count - 1 }, (_, index) => `u${index}`)
  await inTurns(names, AT_ONCE, async (user) => {
    await admin.create(`/api/v1/namespaces/${namespace}/secrets`, secretOf(metadata, 'many', user))
  })
}

async function mints(context: Context, few: Place, many: Place): Promise<Finding> {
  const mintIn = ({ tenant, send }: Place) => send('POST', tenant.path(CREDENTIAL, 'mint'))
  const samples = await interleaved(
    { few: () => timed(() => mintIn(few)), many: () => timed(() => mintIn(many)) },
    { rounds: context.rounds(ROUNDS), warmUp: context.rounds(60), pauseMs: PAUSE_MS },
  )
  return compared({
    what: `mint among ${counted(many)} account Secrets`,
    floor: `among ${counted(few)}`,
    ours: samples.many,
    beside: samples.few,
    atMost: 1.1,
  })
}

async function lists(context: Context, some: Place, many: Place, pid: number): Promise<readonly Finding[]> {
  const bare = await context.bare()
  const limit = context.isQuick ? QUICK_PAGE : PAGE
  const secrets = (at: Place, before?: () => Promise<unknown>) =>
    pages(
      bare,
      `/api/v1/namespaces/${at.tenant.namespace}/secrets`,
      `labelSelector=credentials.cozystack.io%2Faccount%3Dtrue&limit=${limit}`,
      before,
    )
  const credentials = (at: Place) => pages(at.send, at.tenant.path(''), `limit=${limit}`)
  for (const at of [some, many]) await checkedList(at, limit, credentials)
  const samples = await interleaved(
    {
      ours: () => timed(() => credentials(many)),
      raw: () => timed(() => secrets(many)),
      reviewed: () => timed(() => secrets(many, reviewsOf(bare, many))),
      some: () => timed(() => credentials(some)),
    },
    { rounds: context.rounds(LIST_ROUNDS) },
  )
  const paged = await residentOf(pid, 'VmHWM')
  const perItem = (median(samples.ours) / many.count / (median(samples.some) / some.count)).toFixed(2)
  return [
    compared({
      what: `list of ${counted(many)} in pages of ${limit}`,
      floor: 'the same pages of Secrets, raw',
      ours: samples.ours,
      beside: samples.raw,
    }),
    compared({
      what: 'the same',
      floor: 'the same, each page after its token review and its access review',
      ours: samples.ours,
      beside: samples.reviewed,
    }),
    {
      what: `an item of it, beside an item of a list of ${counted(some)}`,
      ours: `${perItem}×`,
      goal: 'linear: ≤ 1.2×',
      isMet: Number(perItem) <= 1.2,
    },
    {
      what: `memory of the function at its highest, after ${samples.ours.length} such lists`,
      ours: `${rounded(paged)} MiB`,
      goal: `bounded: ≤ ${LIMIT_MIB} MiB`,
      isMet: paged <= LIMIT_MIB,
    },
  ]
}

/** A list that has missed some would be a quick one, and so would one that had no pages. */
async function checkedList(at: Place, limit: number, list: (at: Place) => Promise<Pages>): Promise<void> {
  const { items, count } = await list(at)
  if (items < at.count - 1 || count < Math.floor(at.count / limit))
    throw new Error(`listed ${items} of ${at.count} in ${count} pages`)
}

interface Pages {
  readonly items: number
  readonly count: number
}

/** Who asks for a page, and whether they may: no answer to that is kept from one page to the next. */
const reviewsOf =
  (send: BareSend, { tenant: { namespace, tokens } }: Place) =>
  async () => {
    const { status } = await send('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: tokens.admin, audiences: ['mintonce'] },
    })
    const { username: user, groups } = status.user
    const resourceAttributes = { namespace, verb: 'list', group: GROUP, resource: 'credentials' }
    return send('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user, groups, resourceAttributes },
    })
  }

/** All pages, one after the other. Answers how many items and pages there were. */
async function pages(
  send: BareSend,
  path: string,
  query: string,
  before: () => Promise<unknown> = async () => {},
): Promise<Pages> {
  let next = ''
  let items = 0
  let count = 0
  do {
    await before()
    const page = await send('GET', `${path}?${query}&continue=${encodeURIComponent(next)}`)
    items += page.items.length
    count += 1
    next = page.metadata.continue ?? ''
  } while (next !== '')
  return { items, count }
}

const counted = ({ count }: Place) => count.toLocaleString('en')
