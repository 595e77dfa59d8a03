import { isObject, own, textAt } from '../core/json.ts'
import { ok } from '../core/result.ts'
import { applicationOf } from '../credentials/application.ts'
import { nameAccounts } from '../credentials/declared.ts'
import { credentialNameOf } from '../credentials/naming.ts'
import { createDefinitionLookup, type Definitions } from '../definitions/lookup.ts'
import { resolveDeclared } from '../definitions/resolve.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import type { Webhooks } from '../definitions/webhook.ts'
import { toStatus } from '../handlers/status.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import { definitionOf, type Found, metadataOf, readAll } from './definition-files.ts'
import { tableOf } from './table.ts'

interface DefinitionCheckOptions {
  readonly files: readonly string[]
  /** A file with HelmReleases whose accounts are to be shown. */
  readonly release: string | undefined
  /** All documents of a YAML or JSON file. Throws an Error that says why it cannot be read. */
  readonly readDocuments: (file: string) => Promise<readonly unknown[]>
  readonly hosts: Webhooks['hosts']
  readonly print: (text: string) => void
  readonly complain: (text: string) => void
}

const NOT_ASKED = 'a check asks no webhook'

/**
 * Reads definitions as the server does, without a cluster, and prints what it would make of each. Answers the exit code: 0
 * when all is well, 1 when a definition is wrong or a release has problems, 2 when there is nothing to check.
 */
export async function runDefinitionCheck(options: DefinitionCheckOptions): Promise<0 | 1 | 2> {
  const { files, release, print, complain } = options
  const found = await readAll(options, files, 'ApplicationDefinition')
  const releases = release === undefined ? [] : await readAll(options, [release], 'HelmRelease')
  if (found === undefined || releases === undefined) return 2
  const definitions = await definitionsOf(found, options.hosts)
  let problems = 0
  const wrong = (where: string, problem: string) => {
    problems += 1
    complain(`${where}: ${problem}`)
  }
  for (const each of found) {
    const where = `${each.file}: ApplicationDefinition ${nameOf(each)}`
    const problem = await problemWith(each, definitions)
    if (problem === undefined) print(`${where}: ${summaryOf(each, definitions)}`)
    else wrong(where, problem)
  }
  for (const each of releases) {
    const where = `${each.file}: HelmRelease ${nameOf(each)}`
    for (const problem of await showAccounts(each, definitions, print)) wrong(where, problem)
  }
  return problems === 0 ? 0 : 1
}

const nameOf = ({ object }: Found): string => JSON.stringify(textAt(object, 'metadata', 'name') ?? '')
const kindOf = ({ object }: Found): string => textAt(object, 'spec', 'application', 'kind') ?? ''

/** As the server keeps them: two that define one kind are both of no use. */
async function definitionsOf(found: readonly Found[], hosts: Webhooks['hosts']): Promise<Definitions> {
  const { read } = createDefinitionLookup({
    kube: { listDefinitions: async () => ok(found.map(({ object }) => definitionOf(object))) },
    now: () => 0,
    maxAgeMs: 0,
    timeoutMs: 1,
    webhooks: { hosts, ask: async () => ({ ok: false, why: NOT_ASKED }) },
  })
  const definitions = await read()
  if (!definitions.ok) throw new Error(definitions.failure.reason)
  return definitions.value
}

async function problemWith(found: Found, { rulesFor }: Definitions): Promise<string | undefined> {
  if (kindOf(found) === '') return 'spec.application.kind: required'
  const rules = rulesFor(kindOf(found))
  if (!rules.ok) {
    const { failure } = rules
    return failure.reason === 'definition_wrong'
      ? `${failure.field}: ${failure.problem}`
      : toStatus(failure, '').message
  }
  if (rules.value === undefined) return lostBlock(found)
  for (const source of rules.value.sources) {
    const problem = await source.check?.()
    if (problem !== undefined) return `${problem.field}: ${problem.problem}`
  }
  return undefined
}

const BLOCK_ANNOTATION = 'credentials.cozystack.io/definition'

/** A block that somebody wrote, and that nobody would read: the kind would silently not be served. */
function lostBlock({ object }: Found): string | undefined {
  const { metadata, spec } = object
  if (isObject(spec) && Object.hasOwn(spec, 'credentials')) return 'spec.credentials: is empty'
  const similar = Object.keys(isObject(spec) ? spec : {}).find((key) => /^cred/i.test(key))
  if (similar !== undefined)
    return `spec[${JSON.stringify(similar)}]: unknown field; did you mean credentials?`
  const annotations = own(metadata, 'annotations')
  if (own(annotations, BLOCK_ANNOTATION) === undefined) return undefined
  return `metadata.annotations[${BLOCK_ANNOTATION}]: must be JSON in a text`
}

function summaryOf(found: Found, { rulesFor }: Definitions): string {
  const kind = kindOf(found)
  const rules = rulesFor(kind)
  if (!rules.ok || rules.value === undefined) return `${kind} has no spec.credentials, and is not served`
  const { format, sources, valuesPath } = rules.value
  const values = valuesPath === undefined ? '' : `, values at ${valuesPath}`
  return `ok: ${kind}, format ${format.name}, accounts from ${sources.map((source) => source.kind).join(', ')}${values}`
}

/** Prints the accounts of a release, and answers what is wrong with it. */
async function showAccounts(
  { object }: Found,
  { kinds, rulesFor }: Definitions,
  print: (text: string) => void,
): Promise<readonly string[]> {
  const spec = own(object, 'spec')
  const release: HelmRelease = {
    metadata: { ...metadataOf(own(object, 'metadata')), uid: '' },
    spec: isObject(spec) ? spec : {},
  }
  const application = applicationOf(release)
  if (application === undefined) return ['has not the labels of an application']
  if (!kinds.includes(application.kind)) return [`no definition of its kind ${application.kind} was given`]
  const rules = rulesFor(application.kind)
  if (!rules.ok) return [`its kind ${application.kind} is not served while its definition is wrong`]
  if (rules.value === undefined) return [`its kind ${application.kind} has no minted credentials`]
  return accountsOf(rules.value, release, print)
}

async function accountsOf(
  rules: CredentialRules,
  release: HelmRelease,
  print: (text: string) => void,
): Promise<readonly string[]> {
  const declared = await resolveDeclared(rules, release)
  const { accounts, problems } = nameAccounts(declared, release.metadata.name)
  const platform = declared.accounts.filter(({ owner }) => owner === 'platform')
  print(
    tableOf([
      ['CREDENTIAL', 'USERNAME', 'OWNER'],
      ...accounts.map(({ name, username }) => [credentialNameOf(name), username, 'tenant']),
      ...platform.map(({ username }) => ['-', username, 'platform']),
    ]),
  )
  if (declared.valuesFrom.length > 0) {
    print(`values that it takes from references (${declared.valuesFrom.join(', ')}) are not read`)
  }
  const isAsked = rules.sources.some(({ kind }) => kind === 'Webhook')
  if (isAsked) print(`${NOT_ASKED}: the accounts that a Webhook source would answer are not shown`)
  return [...problems.map(({ cause }) => cause), ...declared.causes]
    .filter(({ message }) => !message.endsWith(NOT_ASKED))
    .map(({ field, message }) => (field === undefined ? message : `${field}: ${message}`))
}
