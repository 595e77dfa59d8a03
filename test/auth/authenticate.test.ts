import { describe, expect, test } from 'vitest'
import { authorizationHeader, createAuthenticate, presentedBy } from '../../src/auth/authenticate.ts'
import type { Authenticator, Caller } from '../../src/auth/authenticator.ts'
import { createTokenReviewAuthenticator } from '../../src/auth/token-review.ts'
import type { Failure } from '../../src/core/failure.ts'
import { fail, ok } from '../../src/core/result.ts'
import { authenticatorOn, fakeWeb, ISSUER, issuerConfig, sign, signingKey } from './fake-issuer.ts'

const jane: Caller = { username: 'jane', uid: undefined, groups: ['system:authenticated'], extra: {} }
const knows = (caller: Caller): Authenticator => ({ name: 'knows', authenticate: async () => ok(caller) })
const passes: Authenticator = { name: 'passes', authenticate: async () => ok(undefined) }
const fails = (failure: Failure): Authenticator => ({
  name: 'fails',
  authenticate: async () => fail(failure),
})
const mustNotBeAsked: Authenticator = {
  name: 'must not be asked',
  authenticate: () => Promise.reject(new Error('was asked')),
}
const presented = { token: 'token' }

describe('authenticators', () => {
  test('are asked in order until one knows the caller', async () => {
    const authenticate = createAuthenticate([passes, knows(jane), mustNotBeAsked])
    expect(await authenticate(presented)).toEqual({ ok: true, value: jane })
  })

  test.each<Failure>([
    { reason: 'unauthenticated', why: 'expired' },
    { reason: 'issuer_unavailable', issuer: ISSUER, why: 'ENOTFOUND' },
  ])('end with the first that fails: $reason', async (failure) => {
    const authenticate = createAuthenticate([passes, fails(failure), mustNotBeAsked])
    expect(await authenticate(presented)).toEqual({ ok: false, failure })
  })

  test('never let an empty username through, whoever says so', async () => {
    const authenticate = createAuthenticate([knows({ ...jane, username: '', groups: ['system:masters'] })])
    expect(await authenticate(presented)).toMatchObject({ ok: false, failure: { reason: 'unauthenticated' } })
  })

  test.each([
    { token: undefined, why: 'no credentials' },
    { token: 'token', why: 'nobody knows the token' },
  ])('that all pass leave the caller unknown: $why', async ({ token, why }) => {
    expect(await createAuthenticate([passes, passes])({ token })).toEqual({
      ok: false,
      failure: { reason: 'unauthenticated', why },
    })
  })
})

describe('JWT before TokenReview', () => {
  const review = (username: string) => {
    const tokens: string[] = []
    const authenticator = createTokenReviewAuthenticator({
      kube: {
        reviewToken: async (token) => {
          tokens.push(token)
          const user = { username, uid: undefined, groups: [], extra: {} }
          return ok({ authenticated: true, audiences: ['mintonce'], user, error: undefined })
        },
      },
      audiences: ['mintonce'],
      log: () => {},
    })
    return { authenticator, tokens }
  }

  test('a token that its issuer did not sign never reaches the API server', async () => {
    const { jwk } = await signingKey('k1')
    const { authenticate: jwt } = authenticatorOn(fakeWeb(jwk))
    const { authenticator, tokens } = review('jane')
    const authenticate = createAuthenticate([
      { name: 'jwt', authenticate: ({ token }) => jwt(token ?? '') },
      authenticator,
    ])
    const forged = await sign(await signingKey('k1'))
    expect(await authenticate({ token: forged })).toMatchObject({ failure: { reason: 'unauthenticated' } })
    expect(tokens).toEqual([])
  })

  test('a token of another issuer is for the API server, unread', async () => {
    const key = await signingKey('k1')
    const { authenticate: jwt } = authenticatorOn(fakeWeb(key.jwk), issuerConfig)
    const { authenticator, tokens } = review('bob')
    const authenticate = createAuthenticate([
      { name: 'jwt', authenticate: ({ token }) => jwt(token ?? '') },
      authenticator,
    ])
    const token = await sign(key, { iss: 'https://other.example' })
    expect(await authenticate({ token })).toMatchObject({ ok: true, value: { username: 'bob' } })
    expect(tokens).toEqual([token])
  })
})

describe('an Authorization header that nobody can read', () => {
  const unreadable = presentedBy(new Headers({ Authorization: 'Basic amFuZTpwdw==' }))

  test('ends the search: its sender believes to have said who they are', async () => {
    const authenticate = createAuthenticate([authorizationHeader, mustNotBeAsked])
    expect(await authenticate(unreadable)).toEqual(unreadable.refused)
  })

  test('is nobody’s concern when somebody before it knows the caller, or when there is none', async () => {
    const behindProxy = createAuthenticate([knows(jane), authorizationHeader, mustNotBeAsked])
    expect(await behindProxy(unreadable)).toEqual({ ok: true, value: jane })
    const direct = createAuthenticate([authorizationHeader, knows(jane)])
    expect(await direct({ token: 'token' })).toEqual({ ok: true, value: jane })
  })
})

describe('presentedBy', () => {
  const read = (authorization: string) => presentedBy(new Headers({ Authorization: authorization }))

  test('without an Authorization header there is no token', () => {
    expect(presentedBy(new Headers())).toEqual({ token: undefined })
  })

  test.each(['Bearer abc.def-_~+/==', 'bearer abc.def-_~+/==', 'BEARER   abc.def-_~+/== '])(
    'TOK-17: takes the token of %j',
    (authorization) => {
      expect(read(authorization)).toEqual({ token: 'abc.def-_~+/==' })
    },
  )

  test('refuses a token with a comma, which may be two that were joined', () => {
    expect(read('Bearer one,two')).toMatchObject({
      token: undefined,
      refused: { failure: { reason: 'unauthenticated' } },
    })
  })

  test('TOK-17: two Authorization headers are refused, whichever is first', () => {
    const headers = new Headers()
    headers.append('Authorization', 'Bearer one')
    headers.append('Authorization', 'Bearer two')
    expect(presentedBy(headers)).toMatchObject({
      token: undefined,
      refused: {
        failure: { reason: 'unauthenticated', why: 'more than one Authorization header, or a comma in it' },
      },
    })
  })

  test.each(['', 'Bearer', 'Bearer ', 'Basic amFuZTpwdw==', 'Bearerabc', 'abc', 'Bearer a b', 'Bearer ä'])(
    'refuses %j and says what to send',
    (authorization) => {
      expect(read(authorization)).toEqual({
        token: undefined,
        refused: {
          ok: false,
          failure: {
            reason: 'unauthenticated',
            why: 'the Authorization header is no bearer token',
            hint: 'send one header "Authorization: Bearer TOKEN"',
          },
        },
      })
    },
  )
})
