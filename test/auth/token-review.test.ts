import { describe, expect, test } from 'vitest'
import { createTokenReviewAuthenticator } from '../../src/auth/token-review.ts'
import type { Log } from '../../src/core/deps.ts'
import type { KubeFailure } from '../../src/core/failure.ts'
import { fail, ok, type Result } from '../../src/core/result.ts'
import type { Kube, TokenReviewStatus } from '../../src/k8s/kube.ts'
import { assemble } from './fake-issuer.ts'

const pipeline = 'system:serviceaccount:tenant-acme:pipeline'
const good: TokenReviewStatus = {
  authenticated: true,
  audiences: ['mintonce'],
  user: {
    username: pipeline,
    uid: '7b3f',
    groups: ['system:serviceaccounts', 'system:authenticated'],
    extra: { 'authentication.kubernetes.io/pod-name': ['runner-1'] },
  },
  error: undefined,
}
const nobody = { username: '', uid: undefined, groups: [], extra: {} }
const no: TokenReviewStatus = { authenticated: false, audiences: [], user: nobody, error: undefined }

function reviewer(answer: Result<TokenReviewStatus>, audiences: readonly string[] = ['mintonce']) {
  const asked: Parameters<Kube['reviewToken']>[] = []
  const lines: Parameters<Log>[] = []
  const { authenticate } = createTokenReviewAuthenticator({
    kube: {
      reviewToken: async (...question) => {
        asked.push(question)
        return answer
      },
    },
    audiences,
    log: (...line) => lines.push(line),
  })
  return { authenticate, asked, lines }
}
const refused = { ok: false, failure: { reason: 'unauthenticated' } }

test('gives the reviewed user as it is, with system:authenticated once', async () => {
  const { authenticate, asked } = reviewer(ok(good))
  const { signal } = new AbortController()
  expect(await authenticate({ token: 'opaque', signal })).toEqual({ ok: true, value: good.user })
  expect(asked).toEqual([['opaque', ['mintonce'], { signal }]])
})

test('adds system:authenticated where the API server left it out', async () => {
  const { authenticate } = reviewer(ok({ ...good, user: { ...good.user, groups: ['a', '', 'a'], uid: '' } }))
  expect(await authenticate({ token: 'opaque' })).toMatchObject({
    value: { groups: ['a', 'system:authenticated'], uid: undefined },
  })
})

test('asks nothing when there is no token', async () => {
  const { authenticate, asked } = reviewer(ok(good))
  expect(await authenticate({ token: undefined })).toEqual({ ok: true, value: undefined })
  expect(asked).toEqual([])
})

describe('refuses', () => {
  test.each([
    ['TOK-12: an empty status', { ...no, authenticated: undefined }],
    ['TOK-12: authenticated false with an error', { ...no, error: 'x' }],
    ['TOK-12: authenticated without a user', { ...good, user: nobody }],
    [
      'TOK-12: an empty username in a mighty group',
      { ...good, user: { ...nobody, groups: ['system:masters'] } },
    ],
    ['TOK-12: authenticated as a text', { ...good, authenticated: 'true' }],
    ['authenticated as a number', { ...good, authenticated: 1 }],
    ['TOK-12: a good user beside authenticated false', { ...good, authenticated: false }],
    ['a token for no audience', { ...good, audiences: [] }],
    ['a token for another audience', { ...good, audiences: ['https://kubernetes.default.svc'] }],
    ['the anonymous user', { ...good, user: { ...good.user, username: 'system:anonymous' } }],
    ['unauthenticated people', { ...good, user: { ...good.user, groups: ['system:unauthenticated'] } }],
    ['white space around a username', { ...good, user: { ...good.user, username: ' jane' } }],
    ['a control character in a username', { ...good, user: { ...good.user, username: 'ja\u0000ne' } }],
    ['white space around a group', { ...good, user: { ...good.user, groups: ['a', ' system:masters'] } }],
    ['a line break in a uid', { ...good, user: { ...good.user, uid: '7b3f\n' } }],
  ] as const)('%s', async (_, status) => {
    expect(await reviewer(ok(status)).authenticate({ token: 'opaque' })).toMatchObject(refused)
  })

  test('every token when no audience is configured', async () => {
    const { authenticate } = reviewer(ok(good), [])
    expect(await authenticate({ token: 'opaque' })).toMatchObject(refused)
  })
})

describe('the hint about the audience', () => {
  const command = 'ask for a token with audience "mintonce": kubectl create token NAME --audience mintonce'
  test.each([
    [
      'a ServiceAccount token for the API server',
      { sub: pipeline, aud: ['https://kubernetes.default.svc'] },
      command,
    ],
    ['a ServiceAccount token of a Secret', { sub: pipeline }, command],
    ["a person's token", { sub: 'jane', aud: 'kubernetes' }, 'ask for a token with audience "mintonce"'],
  ])('goes to %s', async (_, claims, hint) => {
    const token = assemble({ alg: 'RS256' }, claims, 'signature')
    expect(await reviewer(ok(no)).authenticate({ token })).toMatchObject({
      failure: { reason: 'unauthenticated', hint },
    })
    const accepted = { ...good, audiences: ['https://kubernetes.default.svc'] }
    expect(await reviewer(ok(accepted)).authenticate({ token })).toMatchObject({ failure: { hint } })
  })

  test.each([
    ['our audience', assemble({ alg: 'RS256' }, { sub: pipeline, aud: ['mintonce'] }, 'signature')],
    ['no JWT', 'opaque'],
    ['claims that are no object', assemble({ alg: 'RS256' }, [1], 'signature')],
  ])('does not go to a refused token of %s', async (_, token) => {
    const answer = await reviewer(ok(no)).authenticate({ token })
    expect(answer).toMatchObject(refused)
    expect(answer).not.toHaveProperty('failure.hint')
  })

  test('survives claims of the wrong kind', async () => {
    const token = assemble({ alg: 'RS256' }, { sub: 7, aud: 7 }, 'signature')
    expect(await reviewer(ok(no)).authenticate({ token })).toMatchObject({
      failure: { hint: 'ask for a token with audience "mintonce"' },
    })
  })
})

test('TOK-12: the words of the API server go to the log and not to the caller, and the token to neither', async () => {
  const token = assemble({ alg: 'RS256' }, { sub: pipeline, aud: 'mintonce' }, 'signature-bytes')
  const [header, payload] = token.split('.')
  const error = `${'x'.repeat(500)} ${token} and ${payload} and ${header}: lookup failed`
  const { authenticate, lines } = reviewer(ok({ ...no, error }))
  const answer = await authenticate({ token })
  expect(answer).toMatchObject(refused)
  expect(JSON.stringify(answer)).not.toContain('xxx')
  expect(lines).toEqual([['info', 'token_review_error', { error: expect.stringMatching(/^x+ \[token\]/) }]])
  for (const part of [token, ...token.split('.')])
    expect(JSON.stringify(lines)).not.toContain(part.slice(0, 6))
})

test('an opaque token is not logged either', async () => {
  const { authenticate, lines } = reviewer(ok({ ...no, error: 'no user has "opaque" as token' }))
  await authenticate({ token: 'opaque' })
  expect(lines).toEqual([['info', 'token_review_error', { error: 'no user has "[token]" as token' }]])
})

test.each<KubeFailure>([
  { reason: 'kube_unreachable', call: 'create tokenreviews', why: 'ECONNREFUSED', sent: false },
  { reason: 'kube_timeout', call: 'create tokenreviews' },
  { reason: 'kube_overloaded', retryAfterSeconds: 1 },
  { reason: 'kube_forbidden', call: 'create tokenreviews' },
])('TOK-14: $reason is passed on, and is not a refusal', async (failure) => {
  expect(await reviewer(fail(failure)).authenticate({ token: 'opaque' })).toEqual({ ok: false, failure })
})
