import { describe, expect, test } from 'vitest'
import { type Answer, asking, RBAC, secretOf, statusOf } from './asking.ts'
import { NOW, testSandbox } from './fixture.ts'

const SECRETS = '/api/v1/namespaces/default/secrets'
const DEFINITIONS = '/apis/cozystack.io/v1alpha1/applicationdefinitions'
const TOKEN_REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
const STALE = '00000000-0000-4000-8000-000000000000'

const PIPELINE = {
  username: 'system:serviceaccount:default:pipeline',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
  uid: 'b7a7f2d0-0000-4000-8000-000000000001',
  audiences: ['mintonce', 'other'],
}

const definition = {
  apiVersion: 'cozystack.io/v1alpha1',
  kind: 'ApplicationDefinition',
  metadata: { name: 'postgres' },
  spec: { application: { kind: 'Postgres' }, credentials: { format: { name: 'scram-sha-256' } } },
}

const namesIn = ({ body }: Answer) =>
  body.items.map((item: { metadata: { name: string } }) => item.metadata.name)

describe('manifests', () => {
  test('are there from the start, with the status that they bring', async () => {
    const status = { observedGeneration: 1, history: [{ version: 1 }] }
    const release = {
      apiVersion: 'helm.toolkit.fluxcd.io/v2',
      kind: 'HelmRelease',
      metadata: { name: 'r', namespace: 'default' },
      spec: { interval: '5m' },
      status,
    }
    const ask = asking(testSandbox({ manifests: [release] }).admin)
    const { body } = await ask('GET', '/apis/helm.toolkit.fluxcd.io/v2/namespaces/default/helmreleases/r')
    expect(body).toMatchObject({ spec: { interval: '5m' }, status, metadata: { generation: 1 } })
    expect(body.metadata.creationTimestamp).toBe('2026-10-02T09:14:07Z')
  })

  test.each([
    [{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } }, 'the sandbox stores no Node'],
    [{ ...secretOf('A'), metadata: { name: 'A', namespace: 'default' } }, 'is invalid: metadata.name'],
    [{ ...secretOf('a'), metadata: { name: 'a', namespace: 'nowhere' } }, 'namespaces "nowhere" not found'],
  ])('that are refused end it: %j', (manifest, why) => {
    expect(() => testSandbox({ manifests: [manifest] })).toThrow(why)
  })
})

describe('bearer tokens', () => {
  const withToken = (token: string | undefined) => {
    const sandbox = testSandbox()
    sandbox.addToken('known', { ...PIPELINE, audiences: ['api'] })
    sandbox.addToken('for-others', PIPELINE)
    sandbox.addToken('old', { ...PIPELINE, audiences: ['api'], expires: NOW })
    const ask = asking((request) => {
      if (token !== undefined) request.headers.set('Authorization', token)
      return sandbox.fetch(request)
    })
    return ask('GET', SECRETS)
  }

  test('of somebody known are answered by RBAC', async () => {
    const { body } = await withToken('Bearer known')
    expect(body.message).toContain(`User "${PIPELINE.username}" cannot list resource "secrets"`)
  })

  test.each(['Bearer unknown', 'Bearer for-others', 'Bearer old', 'Basic known', 'Bearer  known', 'known'])(
    'like %j are 401',
    async (token) => {
      expect(statusOf(await withToken(token))).toMatchObject({
        code: 401,
        reason: 'Unauthorized',
        message: 'Unauthorized',
      })
    },
  )

  test('that are missing make a caller anonymous', async () => {
    expect((await withToken(undefined)).body.message).toContain('User "system:anonymous" cannot list')
  })
})

describe('a TokenReview', () => {
  const reviewed = async (spec: object) => {
    let now = NOW
    const sandbox = testSandbox({ now: () => now })
    sandbox.addToken('pipeline-token', { ...PIPELINE, expires: NOW + 1000 })
    const ask = asking(sandbox.admin)
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec }
    const before = (await ask('POST', TOKEN_REVIEWS, review)).body
    now += 1000
    const after = (await ask('POST', TOKEN_REVIEWS, review)).body
    return { before, after }
  }

  test('answers the audiences that were asked for and that the token has', async () => {
    const spec = { token: 'pipeline-token', audiences: ['none', 'other', 'mintonce'] }
    const { before } = await reviewed(spec)
    const { username, groups, uid } = PIPELINE
    expect(before.status).toEqual({
      authenticated: true,
      user: { username, uid, groups },
      audiences: ['other', 'mintonce'],
    })
    expect(before.spec).toEqual(spec)
  })

  test('tolerates a line break behind the token', async () => {
    const { before } = await reviewed({ token: 'pipeline-token\n', audiences: ['mintonce'] })
    expect(before.status.authenticated).toBe(true)
  })

  test('of a token for others says for whom it is', async () => {
    const { before } = await reviewed({ token: 'pipeline-token', audiences: ['none'] })
    expect(before.status).toEqual({
      user: {},
      error:
        '[invalid bearer token, token audiences ["mintonce" "other"] is invalid for the target audiences ["none"]]',
    })
  })

  test('without audiences asks for those of the API server', async () => {
    const { before } = await reviewed({ token: 'pipeline-token' })
    expect(before.status.error).toContain(
      'is invalid for the target audiences ["https://kubernetes.default.svc.cluster.local"]',
    )
  })

  test('of a token that has expired says so', async () => {
    const { after } = await reviewed({ token: 'pipeline-token', audiences: ['mintonce'] })
    expect(after.status).toEqual({
      user: {},
      error: '[invalid bearer token, service account token has expired]',
    })
  })
})

describe('an expired continue token', () => {
  test('is 410 with a token for an inconsistent list; the list can be started again', async () => {
    const manifests = ['a', 'b', 'c'].map((name) => secretOf(name, { metadata: { namespace: 'default' } }))
    const sandbox = testSandbox({ manifests })
    const ask = asking(sandbox.admin)
    const { metadata } = (await ask('GET', `${SECRETS}?limit=1`)).body
    sandbox.expireContinueTokens()
    const expired = await ask('GET', `${SECRETS}?limit=1&continue=${metadata.continue}`)
    expect(expired.body).toMatchObject({
      code: 410,
      reason: 'Expired',
      metadata: { continue: expect.any(String) },
    })

    await ask('DELETE', `${SECRETS}/b`)
    const inconsistent = await ask('GET', `${SECRETS}?limit=1&continue=${expired.body.metadata.continue}`)
    expect(namesIn(inconsistent)).toEqual(['c'])

    const again = (await ask('GET', `${SECRETS}?limit=1`)).body
    expect(namesIn(await ask('GET', `${SECRETS}?limit=1&continue=${again.metadata.continue}`))).toEqual(['c'])
  })

  test('is also one of a list that was begun long ago', async () => {
    const manifests = ['a', 'b'].map((name) => secretOf(name, { metadata: { namespace: 'default' } }))
    const ask = asking(testSandbox({ manifests }).admin)
    const { metadata } = (await ask('GET', `${SECRETS}?limit=1`)).body
    for (let index = 0; index < 64; index += 1) {
      await ask('POST', SECRETS, secretOf(`x${index}`))
      await ask('GET', `${SECRETS}?limit=1`)
    }
    expect((await ask('GET', `${SECRETS}?limit=1&continue=${metadata.continue}`)).status).toBe(410)
  })
})

describe('the CRD of ApplicationDefinition', () => {
  test('keeps the credentials block when it is patched, and hides it when it no longer is', async () => {
    const sandbox = testSandbox({ manifests: [definition] })
    const ask = asking(sandbox.admin)
    const spec = async () => (await ask('GET', `${DEFINITIONS}/postgres`)).body.spec
    expect(await spec()).toEqual(definition.spec)
    sandbox.setDefinitionPatched(false)
    expect(await spec()).toEqual({ application: { kind: 'Postgres' } })
    expect((await ask('GET', DEFINITIONS)).body.items[0].spec).toEqual({ application: { kind: 'Postgres' } })
    sandbox.setDefinitionPatched(true)
    expect(await spec()).toEqual(definition.spec)
  })

  test('drops the block of what is written while it is not patched', async () => {
    const sandbox = testSandbox({ crdPatched: false })
    const ask = asking(sandbox.admin)
    await ask('POST', DEFINITIONS, definition)
    sandbox.setDefinitionPatched(true)
    expect((await ask('GET', `${DEFINITIONS}/postgres`)).body.spec).toEqual({
      application: { kind: 'Postgres' },
    })
  })
})

describe('the garbage collector', () => {
  const orphan = secretOf('orphan', {
    metadata: {
      ownerReferences: [
        { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', name: 'r', uid: STALE },
      ],
    },
  })
  const foreign = secretOf('foreign', {
    metadata: { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'd', uid: STALE }] },
  })

  test('looks when it is told, and leaves alone what belongs to kinds that it cannot see', async () => {
    const sandbox = testSandbox()
    const ask = asking(sandbox.admin)
    for (const secret of [orphan, foreign]) await ask('POST', SECRETS, secret)
    expect(namesIn(await ask('GET', SECRETS))).toEqual(['foreign', 'orphan'])
    sandbox.collect()
    expect(namesIn(await ask('GET', SECRETS))).toEqual(['foreign'])
  })

  test('can look after every write', async () => {
    const ask = asking(testSandbox({ collectsOnWrite: true }).admin)
    expect((await ask('POST', SECRETS, orphan)).status).toBe(201)
    expect((await ask('GET', `${SECRETS}/orphan`)).status).toBe(404)
  })
})

describe('identities', () => {
  test('a group grants what a user does not have', async () => {
    const manifests = [
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'reader', labels: { collect: 'true' } },
        rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['list'] }],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'collector' },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { collect: 'true' } }] },
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'readers' },
        roleRef: { kind: 'ClusterRole', name: 'collector' },
        subjects: [{ kind: 'Group', name: 'readers' }],
      },
    ]
    const sandbox = testSandbox({ manifests })
    const listedBy = async (groups: readonly string[]) =>
      (await asking(sandbox.fetchAs({ username: 'ann', groups }))('GET', '/api/v1/secrets')).status
    expect(await listedBy(['readers'])).toBe(200)
    expect(await listedBy(['writers'])).toBe(403)
    // A group whose name holds a comma is one group.
    expect(await listedBy(['writers, readers'])).toBe(403)
    await asking(sandbox.admin)('DELETE', `${RBAC}/clusterrolebindings/readers`)
    expect(await listedBy(['readers'])).toBe(403)
  })
})

describe('a request', () => {
  test('whose caller has gone is not served', async () => {
    const sandbox = testSandbox()
    const controller = new AbortController()
    controller.abort()
    const request = new Request(`https://kubernetes.default.svc${SECRETS}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(secretOf('a')),
      signal: controller.signal,
    })
    await expect(sandbox.admin(request)).rejects.toThrow()
    expect((await asking(sandbox.admin)('GET', `${SECRETS}/a`)).status).toBe(404)
  })

  test('to watch is refused, for there is none', async () => {
    expect((await asking(testSandbox().admin)('GET', `${SECRETS}?watch=true`)).status).toBe(400)
  })

  test('whose path is no text is a bad request', async () => {
    expect((await asking(testSandbox().admin)('GET', '/api/v1/namespaces/%E0%A4%A/secrets')).status).toBe(400)
  })

  test('cannot change what is stored through an answer, nor through the manifest', async () => {
    const manifest = secretOf('a', { metadata: { namespace: 'default' } })
    const ask = asking(testSandbox({ manifests: [manifest] }).admin)
    manifest.data.username = 'changed'
    const { body } = await ask('GET', `${SECRETS}/a`)
    body.data.username = 'changed'
    expect((await ask('GET', `${SECRETS}/a`)).body.data.username).not.toBe('changed')
  })

  test('keeps names that JavaScript has a meaning for', async () => {
    const ask = asking(testSandbox().admin)
    const text = `{"metadata":{"name":"constructor","labels":{"__proto__":"x"}},"data":{"__proto__":"eA=="}}`
    expect((await ask('POST', SECRETS, text)).body).toMatchObject({
      code: 422,
      details: { causes: [{ field: 'metadata.labels' }] },
    })
    const data = await ask('POST', SECRETS, '{"metadata":{"name":"constructor"},"data":{"__proto__":"eA=="}}')
    expect(data.text).toContain('"data":{"__proto__":"eA=="}')
    const labelled = await ask('GET', `${SECRETS}?labelSelector=constructor`)
    expect(labelled.body.items).toEqual([])
  })
})
