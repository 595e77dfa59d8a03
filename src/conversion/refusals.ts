import type { Failure } from '../core/failure.ts'
import type { Result } from '../core/result.ts'
import type { ConvertServices } from './convertible.ts'

type SecretCalls = ConvertServices['kube']

/**
 * The same calls, counted. `always` is the failure of calls that were forbidden every time, reads or writes: then it is
 * our rights that are wrong, or a policy of the platform, and no tenant's doing. A quota and a namespace that goes away
 * are failures of their own. Undefined when some call went through, or none was made.
 */
export function watchRefusals<Calls extends SecretCalls>(
  kube: Calls,
): { readonly kube: Calls; readonly always: () => Failure | undefined } {
  const reads = counter()
  const writes = counter()
  const watched: SecretCalls = {
    getSecret: async (...given) => reads.see(await kube.getSecret(...given)),
    createSecret: async (...given) => writes.see(await kube.createSecret(...given)),
    updateSecret: async (...given) => writes.see(await kube.updateSecret(...given)),
  }
  return { kube: { ...kube, ...watched }, always: () => reads.always() ?? writes.always() }
}

function counter() {
  let refused: Failure | undefined
  let wentThrough = false
  return {
    see: <T>(result: Result<T>): Result<T> => {
      if (!result.ok && result.failure.reason === 'kube_forbidden') refused = result.failure
      else wentThrough = true
      return result
    },
    always: () => (wentThrough ? undefined : refused),
  }
}
