import { expect, test } from 'vitest'
import { createEventSender, type EventSenders, type SentWith } from '../../src/auth/event-sender.ts'
import { fail, ok } from '../../src/core/result.ts'
import type { Kube, TokenReviewStatus } from '../../src/k8s/kube.ts'

const KEYS = ['key-of-the-event-sources', 'key-of-the-sources-next']
const SOURCE = 'system:serviceaccount:tenant-acme:releases'
const OIDC = { audience: 'mintonce-events', usernames: [SOURCE] }
const TOKEN = 'header.payload.signature'

const status: TokenReviewStatus = {
  authenticated: true,
  audiences: ['mintonce-events'],
  user: { username: SOURCE, uid: 'u-1', groups: ['system:serviceaccounts'], extra: {} },
  error: undefined,
}

function asking(senders: Partial<EventSenders>, review: Kube['reviewToken'] = async () => ok(status)) {
  const asked: Parameters<Kube['reviewToken']>[] = []
  const reviewToken: Kube['reviewToken'] = (...given) => {
    asked.push(given)
    return review(...given)
  }
  const sender = createEventSender(
    { keys: [], oidc: undefined, ...senders },
    { kube: { reviewToken }, log: () => undefined },
  )
  const ask = async (sent: Partial<SentWith>) => {
    if (sender === undefined) throw new Error('nobody may send')
    const known = await sender({ token: undefined, keys: [], ...sent })
    return known.ok ? 'known' : known.failure.reason
  }
  return { ask, asked }
}

test('where nothing is configured, nobody may send', () => {
  const kube = { reviewToken: async () => ok(status) }
  expect(createEventSender({ keys: [], oidc: undefined }, { kube, log: () => undefined })).toBeUndefined()
})

test.each<[what: string, sent: Partial<SentWith>]>([
  ['as bearer token', { token: KEYS[0] }],
  ['as bearer token, the next one', { token: KEYS[1] }],
  ['in an event', { keys: [KEYS[0] ?? ''] }],
  ['in each event of a batch, while one takes the place of the other', { keys: KEYS }],
  ['in an event, beside the token of the source', { token: TOKEN, keys: [KEYS[1] ?? ''] }],
])('a key proves its sender: %s', async (_, sent) => {
  const { ask, asked } = asking({ keys: KEYS })
  expect(await ask(sent)).toBe('known')
  expect(asked).toEqual([])
})

test.each<[what: string, sent: Partial<SentWith>]>([
  ['nothing', {}],
  ['another key', { token: 'key-of-the-event-source' }],
  ['a longer key', { token: `${KEYS[0]}s` }],
  ['an empty key', { keys: [''] }],
  ['a batch of which one event has another key', { keys: [KEYS[0] ?? '', 'other'] }],
  ['a batch of which one event has none', { keys: [KEYS[0] ?? '', ''] }],
  ['both keys as one', { token: KEYS.join(' ') }],
  ['the token of a source', { token: TOKEN }],
])('where keys count, %s is 401 and no token is sent anywhere', async (_, sent) => {
  const { ask, asked } = asking({ keys: KEYS })
  expect(await ask(sent)).toBe('unauthenticated')
  expect(asked).toEqual([])
})

test('a token of a source for the audience proves its sender, and the audience is asked for', async () => {
  const { ask, asked } = asking({ oidc: OIDC })
  expect(await ask({ token: TOKEN })).toBe('known')
  expect(asked).toEqual([[TOKEN, ['mintonce-events'], {}]])
})

test.each<[what: string, status: Partial<TokenReviewStatus>]>([
  ['for another audience', { audiences: ['mintonce'] }],
  ['for no audience, from an API server that knows none', { audiences: [] }],
  ['that the cluster does not know', { authenticated: false }],
  ['of somebody else', { user: { ...status.user, username: `${SOURCE}2` } }],
  ['of nobody', { user: { ...status.user, username: '' } }],
])('a token %s is 401', async (_, change) => {
  const { ask } = asking({ oidc: OIDC }, async () => ok({ ...status, ...change }))
  expect(await ask({ token: TOKEN })).toBe('unauthenticated')
})

test('where only tokens count no text is a key', async () => {
  const { ask } = asking({ oidc: OIDC }, async () => ok({ ...status, authenticated: false }))
  for (const sent of [{ keys: [''] }, { token: '' }, { keys: ['undefined'] }, {}]) {
    expect(await ask(sent)).toBe('unauthenticated')
  }
})

test('where both count, a key needs no review, and everything else one', async () => {
  const { ask, asked } = asking({ keys: KEYS, oidc: OIDC })
  expect(await ask({ token: KEYS[0] })).toBe('known')
  expect(asked).toHaveLength(0)
  expect(await ask({ token: TOKEN })).toBe('known')
  expect(asked).toHaveLength(1)
})

test('an API server that does not answer refuses nobody', async () => {
  const { ask } = asking({ oidc: OIDC }, async () =>
    fail({ reason: 'kube_timeout', call: 'create TokenReview' }),
  )
  expect(await ask({ token: TOKEN })).toBe('kube_timeout')
})
