import { describe, expect, test } from 'vitest'
import { json, kubeOver, scripted, status } from './scripted-fetch.ts'

const item = (name: string, more: object = {}) => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion: '1' },
  ...more,
})
const listOf = (kind: string) => (items: unknown, next?: string) =>
  json({ kind, apiVersion: 'v1', metadata: { resourceVersion: '9', continue: next }, items })
const secrets = listOf('SecretList')
const definitions = listOf('ApplicationDefinitionList')
const expired = () =>
  json({ kind: 'Status', reason: 'Expired', code: 410, metadata: { continue: 'inconsistent' } }, 410)
const failed = (failure: object) => ({ ok: false, failure })

describe('a page of Secrets', () => {
  test('is asked for with selectors, limit and continue, and says how to go on', async () => {
    const { kube, sent } = scripted(secrets([item('a')], 'next'))
    const options = {
      labelSelector: 'x=y,z',
      fieldSelector: 'metadata.name=a',
      limit: 2,
      continue: 'to+ken/=',
    }
    expect(await kube.listSecrets('tenant-a', options)).toEqual({
      ok: true,
      value: {
        items: [{ ...item('a'), apiVersion: 'v1', kind: 'Secret' }],
        resourceVersion: '9',
        continue: 'next',
      },
    })
    expect(sent[0]?.path).toBe('/api/v1/namespaces/tenant-a/secrets')
    expect(sent[0]?.query).toEqual({ ...options, limit: '2' })
  })

  test('asks for nothing that it was not given, and takes null for no items', async () => {
    const { kube, sent } = scripted(secrets(null, ''))
    expect(await kube.listSecrets('tenant-a', {})).toEqual({
      ok: true,
      value: { items: [], resourceVersion: '9' },
    })
    expect(sent[0]?.query).toEqual({})
  })

  test('whose token is too old is expired, and is not begun again for the caller', async () => {
    const { kube, sent } = scripted(expired())
    expect(await kube.listSecrets('tenant-a', { continue: 'old' })).toEqual(
      failed({ reason: 'kube_expired' }),
    )
    expect(sent).toHaveLength(1)
  })

  test.each([
    ['another kind', definitions([item('a')])],
    ['an item without uid', secrets([{ metadata: { name: 'a', resourceVersion: '1' } }])],
    ['an item that is none', secrets([null])],
    ['items that are no list', secrets({ 0: item('a') })],
  ])('with %s is a failure', async (_, answer) => {
    expect(await scripted(answer).kube.listSecrets('tenant-a', {})).toEqual(
      failed({ reason: 'kube_error', call: 'list Secrets', code: 200 }),
    )
  })
})

describe('the definitions', () => {
  const names = async (...answers: readonly Response[]) => {
    const { kube, sent } = scripted(...answers)
    const listed = await kube.listDefinitions()
    return { sent, result: listed.ok ? listed.value.map(({ metadata }) => metadata.name) : listed }
  }

  test('are all pages of 500', async () => {
    const { sent, result } = await names(
      definitions([item('a')], 'one'),
      definitions([item('b')], 'two'),
      definitions([item('c')]),
    )
    expect(result).toEqual(['a', 'b', 'c'])
    expect(sent.map(({ query }) => query)).toEqual([
      { limit: '500' },
      { limit: '500', continue: 'one' },
      { limit: '500', continue: 'two' },
    ])
    expect(sent[0]?.path).toBe('/apis/cozystack.io/v1alpha1/applicationdefinitions')
  })

  test('are listed from the start, once, when the list expires: no item twice, and not with the token offered', async () => {
    const { sent, result } = await names(
      definitions([item('a')], 'one'),
      expired(),
      definitions([item('a'), item('b')]),
    )
    expect(result).toEqual(['a', 'b'])
    expect(sent[2]?.query).toEqual({ limit: '500' })
  })

  test('are a failure when the list expires twice', async () => {
    const { sent, result } = await names(definitions([], 'one'), expired(), definitions([], 'two'), expired())
    expect(result).toEqual(failed({ reason: 'kube_expired' }))
    expect(sent).toHaveLength(4)
  })

  test('are a failure when one page fails: a part of the list is never returned', async () => {
    const { result } = await names(definitions([item('a')], 'one'), status(500, 'InternalError'))
    expect(result).toEqual(failed({ reason: 'kube_error', call: 'list ApplicationDefinitions', code: 500 }))
  })

  test('are a failure when pages never end', async () => {
    let asked = 0
    const kube = kubeOver(async () => {
      asked += 1
      return definitions([item('a')], 'again')
    })
    expect(await kube.listDefinitions()).toEqual(
      failed({ reason: 'kube_error', call: 'list ApplicationDefinitions', code: 200 }),
    )
    expect(asked).toBe(100)
  })

  test('are not hidden by one without a spec', async () => {
    const { kube } = scripted(definitions([item('a'), item('b', { spec: { application: {} } })]))
    const listed = await kube.listDefinitions()
    expect(listed.ok && listed.value.map(({ spec }) => spec)).toEqual([{}, { application: {} }])
  })
})
