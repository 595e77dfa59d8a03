import { expect, test } from 'vitest'
import { guardedBy, orBadGateway } from '../../dev/kube-binding.ts'

const asked = (headers: Readonly<Record<string, string>>) =>
  new Request('https://kubernetes.default.svc/api/v1/namespaces', { method: 'POST', body: '{}', headers })

const counting = () => {
  const seen: Request[] = []
  return {
    seen,
    kube: async (request: Request) => {
      seen.push(request)
      return new Response('from the API server')
    },
  }
}

test('who has the secret is let in, and the API server does not get to see it', async () => {
  const { seen, kube } = counting()
  const answer = await guardedBy('a-secret', kube)(asked({ Authorization: 'Bearer a-secret' }))
  expect(await answer.text()).toBe('from the API server')
  expect(seen[0]?.headers.has('authorization')).toBe(false)
  expect(seen[0]?.method).toBe('POST')
  expect(await seen[0]?.text()).toBe('{}')
})

test.each([
  ['nothing', {}],
  ['another secret', { Authorization: 'Bearer another' }],
  ['a part of it', { Authorization: 'Bearer a-secre' }],
  ['more than it', { Authorization: 'Bearer a-secret, Bearer a-secret' }],
  ['it without the scheme', { Authorization: 'a-secret' }],
])('who shows %s asks the API server nothing', async (_what, headers) => {
  const { seen, kube } = counting()
  expect((await guardedBy('a-secret', kube)(asked(headers))).status).toBe(401)
  expect(seen).toEqual([])
})

test('an API server that is away is 502, and why is told without the text of the error', async () => {
  const reported: string[] = []
  const cause = Object.assign(new Error('the-token is no JSON'), { code: 'NO_CREDENTIALS' })
  const kube = () => Promise.reject(new Error('what a plug-in printed', { cause }))
  const answer = await orBadGateway(kube, (why) => reported.push(why))(asked({}))
  expect([answer.status, await answer.text()]).toEqual([502, ''])
  expect(reported).toEqual(['NO_CREDENTIALS'])
})
