import { nextTurn } from '../core/next-turn.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { ListOptions, Page } from './kube.ts'

const PAGE_SIZE = 500
/** Half a million objects: a server whose pages never end holds nobody for ever. */
const MAX_PAGES = 1000
const MAX_STARTS = 3

/**
 * What is kept of each object of a list, page by page; of which it keeps nothing are left out. One failed page fails the
 * list. When it expires under way (410) it is begun again, at most twice, and never continued with the token for an
 * inconsistent list that the answer offers (`k8s.io/apiserver/pkg/storage/etcd3`, `inconsistentContinue`).
 */
export async function listAll<T, Kept>(
  list: (options: ListOptions) => Promise<Result<Page<T>>>,
  options: Omit<ListOptions, 'limit' | 'continue'>,
  keep: (item: T) => Kept | undefined | Promise<Kept | undefined>,
): Promise<Result<readonly Kept[]>> {
  let expired: Result<readonly Kept[]> = fail({ reason: 'kube_expired' })
  for (let start = 1; start <= MAX_STARTS; start += 1) {
    expired = await listOnce(list, options, keep)
    if (expired.ok || expired.failure.reason !== 'kube_expired') return expired
  }
  return expired
}

/** The server makes up the next page while this one is looked at: two are there at a time, and one is asked for. */
async function listOnce<T, Kept>(
  list: (options: ListOptions) => Promise<Result<Page<T>>>,
  options: Omit<ListOptions, 'limit' | 'continue'>,
  keep: (item: T) => Kept | undefined | Promise<Kept | undefined>,
): Promise<Result<readonly Kept[]>> {
  const kept: Kept[] = []
  let asked = list({ ...options, limit: PAGE_SIZE })
  for (let pages = 1; pages <= MAX_PAGES; pages += 1) {
    const page = await asked
    if (!page.ok) return page
    const next = page.value.continue
    if (next !== undefined && pages < MAX_PAGES) {
      asked = list({ ...options, limit: PAGE_SIZE, continue: next })
      // Handled when its turn comes.
      asked.catch(() => undefined)
      // It is sent before anything else is done, which may take long without a pause.
      await nextTurn()
    }
    for (const item of page.value.items) {
      const of = await keep(item)
      if (of !== undefined) kept.push(of)
    }
    if (next === undefined) return ok(kept)
  }
  return fail({ reason: 'kube_error', call: 'list page after page', code: 200 })
}
