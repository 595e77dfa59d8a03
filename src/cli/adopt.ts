import { type AdoptTarget, adopt, type Given } from '../credentials/adopt.ts'
import type { Kube } from '../k8s/kube.ts'
import { wordsOf } from './sweep.ts'
import { tableOf } from './table.ts'

interface AdoptCommandOptions extends AdoptTarget {
  readonly dryRun: boolean
  readonly output: 'table' | 'json'
  readonly print: (text: string) => void
  readonly complain: (text: string) => void
}

/** Marks account Secrets and prints what became of each. Answers whether all went well. */
export async function runAdopt(
  kube: Kube,
  { dryRun, output, print, complain, ...target }: AdoptCommandOptions,
): Promise<boolean> {
  const problem = await problemWith(kube, target)
  if (problem !== undefined) {
    complain(problem)
    return false
  }
  const given = await adopt(kube, target, { dryRun })
  if (!given.ok) {
    complain(`the Secrets cannot be listed: ${wordsOf(given.failure)}`)
    return false
  }
  print(output === 'json' ? JSON.stringify(given.value, null, 2) : tableOfGiven(given.value))
  const failed = given.value.filter(({ result }) => result === 'failed').length
  const marked = given.value.filter(({ result }) => result === 'marked').length
  complain(
    `${given.value.length} account Secrets: ${marked} ${dryRun ? 'would be marked (dry run)' : 'marked'}, ${failed} failed`,
  )
  if (given.value.length > 0 || target.release === undefined) return failed === 0
  complain(`there is no account Secret of a release ${target.release}`)
  return false
}

/** A list in a namespace that is not there is empty and no failure: a slip would look like success. */
async function problemWith(
  { getNamespace }: Pick<Kube, 'getNamespace'>,
  { namespace }: AdoptTarget,
): Promise<string | undefined> {
  if (namespace === undefined) return undefined
  const found = await getNamespace(namespace)
  if (!found.ok) return `namespace ${namespace} cannot be read: ${wordsOf(found.failure)}`
  return found.value === undefined ? `there is no namespace ${namespace}` : undefined
}

const tableOfGiven = (given: readonly Given[]): string =>
  tableOf([
    ['NAMESPACE', 'SECRET', 'RESULT'],
    ...given.map(({ namespace, secret, result, failure }) => [
      namespace,
      secret,
      failure === undefined ? result : `${result}: ${failure}`,
    ]),
  ])
