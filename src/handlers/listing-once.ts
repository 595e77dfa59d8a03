import type { Result } from '../core/result.ts'
import type { ListOptions, Page } from '../k8s/kube.ts'
import type { AnchorServices } from '../trust-anchor/services.ts'

type AnchorKube = AnchorServices['kube']
type List<T> = (namespace: string | undefined, options: ListOptions) => Promise<Result<Page<T>>>

/** The same calls, but that no list is read twice: for one look, after which it is forgotten. */
export const listingOnce = (kube: AnchorKube): AnchorKube => ({
  ...kube,
  listTenantProjections: once(kube.listTenantProjections),
  listHelmReleases: once(kube.listHelmReleases),
  listSecrets: once(kube.listSecrets),
})

function once<T>(list: List<T>): List<T> {
  const asked = new Map<string, ReturnType<List<T>>>()
  return (namespace, options) => {
    const { signal: _, ...page } = options
    const key = JSON.stringify([namespace, page])
    const answer = asked.get(key) ?? list(namespace, options)
    asked.set(key, answer)
    return answer
  }
}
