import { isObject, type Json, own } from '../../core/json.ts'
import { type Declared, usernameProblem } from '../rules.ts'
import { PATH_PATTERN, type Reading, readPath } from '../values.ts'
import { readWebhook } from '../webhook.ts'
import { ownerOf } from './owner.ts'
import type { SourceKind } from './source.ts'

const MAX_ACCOUNTS = 256

/**
 * `{kind: Webhook, webhook: {clientConfig, timeoutSeconds, values: [users]}}`: what a server answers. It is sent the
 * values at the listed paths and nothing else of the release. Whatever goes wrong with it fails the source as a whole
 * with `webhook_failed`: half an answer would look like accounts that are gone.
 */
export const webhookSource: SourceKind = {
  kind: 'Webhook',
  fields: ['webhook'],
  parse(entry, at, { definition, webhooks }) {
    const field = `${at}.webhook`
    const read = readWebhook(own(entry, 'webhook'), field, webhooks, ['values'])
    if (!read.ok) return read
    const paths: unknown = own(read.block, 'values') ?? []
    if (!isPaths(paths)) {
      return { ok: false, field: `${field}.values`, problem: 'must be a list of dotted names, such as users' }
    }
    const failed = (why: string) => {
      const failure = { reason: 'webhook_failed', definition, field, why } as const
      const message = `ApplicationDefinition ${JSON.stringify(definition)}: failed calling webhook ${JSON.stringify(field)}: ${why}`
      return { ok: false, cause: { reason: 'InternalError', message }, failure } as const
    }
    return {
      ok: true,
      source: {
        kind: 'Webhook',
        async resolve({ values }) {
          const listed = valuesAt(values, paths)
          if (!listed.ok) return listed
          const review = { kind: 'AccountReview', request: { values: listed.value } } as const
          const asked = await webhooks.ask(read.webhook, review)
          if (!asked.ok) return failed(asked.why)
          const accounts = accountsIn(own(asked.response, 'accounts'))
          return typeof accounts === 'string'
            ? failed(accounts)
            : { ok: true, value: { accounts, malformed: [] } }
        },
      },
    }
  },
}

const isPaths = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((path) => typeof path === 'string' && PATH_PATTERN.test(path))

/** By their paths; what is not there is left out. */
function valuesAt(values: Json, paths: readonly string[]): Reading {
  const found: [string, unknown][] = []
  for (const path of paths) {
    const read = readPath(values, path)
    if (!read.ok) return read
    if (read.value !== undefined) found.push([path, read.value])
  }
  return { ok: true, value: Object.fromEntries(found) }
}

/** The accounts of an answer, or what is wrong with it, without a word of it. */
function accountsIn(answered: unknown): readonly Declared[] | string {
  if (!Array.isArray(answered)) return 'answered no list of accounts'
  if (answered.length > MAX_ACCOUNTS) return `answered more than ${MAX_ACCOUNTS} accounts`
  const accounts: Declared[] = []
  for (const entry of answered) {
    const account = accountIn(entry)
    if (typeof account === 'string') return account
    accounts.push(account)
  }
  return accounts
}

/** Of `{name, username?, owner?}`: the username is the name when it is left out. */
function accountIn(entry: unknown): Declared | string {
  if (!isObject(entry)) return 'answered an account that is no object'
  if (typeof own(entry, 'name') !== 'string') return 'answered an account without a name'
  const username = own(entry, 'username') ?? own(entry, 'name')
  if (typeof username !== 'string') return 'answered an account whose username is no text'
  const problem = usernameProblem(username)
  if (problem !== undefined) return `answered an account whose username ${problem}`
  const owner = ownerOf(entry)
  return owner === undefined
    ? 'answered an account whose owner is neither tenant nor platform'
    : { username, owner }
}
