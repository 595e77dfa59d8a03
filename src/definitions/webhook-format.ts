import { type Json, own } from '../core/json.ts'
import { fail } from '../core/result.ts'
import type { NamedFormat } from '../formats/format.ts'
import { readWebhook, type WebhookContext } from './webhook.ts'

export type ReadFormat =
  | { readonly ok: true; readonly format: NamedFormat }
  | { readonly ok: false; readonly field: string; readonly problem: string }

/** One line of text: what ends a line of an engine's configuration, or is no text, cannot be meant. */
const ONE_LINE = /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+$/u

/**
 * `{kind: Webhook, name, webhook: {clientConfig, timeoutSeconds, storesPlaintext}}`: a server that is sent the username
 * and the password and answers with the value to store. It is a part of what keeps the password. Whatever goes wrong
 * with it is `webhook_failed`, and nothing is stored.
 */
export function readWebhookFormat(
  block: Json,
  path: string,
  { definition, webhooks }: WebhookContext,
): ReadFormat {
  const name = own(block, 'name')
  if (typeof name !== 'string' || name === '') {
    return { ok: false, field: `${path}.name`, problem: 'required: what the webhook is sent as its name' }
  }
  const field = `${path}.webhook`
  const read = readWebhook(own(block, 'webhook'), field, webhooks, ['storesPlaintext'])
  if (!read.ok) return read
  const storesPlaintext = own(read.block, 'storesPlaintext') ?? false
  if (typeof storesPlaintext !== 'boolean') {
    return { ok: false, field: `${field}.storesPlaintext`, problem: 'must be true or false' }
  }
  const refuse = (why: string) => fail({ reason: 'webhook_failed', definition, field, why })
  return {
    ok: true,
    format: {
      name,
      storesPlaintext,
      canonical: ONE_LINE,
      refuse,
      async derive({ username, password }, { signal }) {
        const review = { kind: 'FormatReview', request: { format: name, username, password } } as const
        const asked = await webhooks.ask(read.webhook, review, signal)
        if (!asked.ok) return refuse(asked.why)
        const value = own(asked.response, 'value')
        return typeof value === 'string' ? value : refuse('answered no value')
      },
    },
  }
}
