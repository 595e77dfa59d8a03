import { describe, expect, test } from 'vitest'
import { type Answer, type Ask, newPlace, type Place, releaseOf, secretOf } from '../asking.ts'
import type { Served } from '../kube-api.ts'

const namesIn = ({ body }: Answer): readonly string[] =>
  body.items.map((item: { metadata: { name: string } }) => item.metadata.name)

const query = (parameters: Readonly<Record<string, string>>) => `?${new URLSearchParams(parameters)}`

/** Secrets `a` to `e` with a label of their name, odd ones with another, and `plain` with none. */
async function stocked(served: Served): Promise<Place> {
  const place = await newPlace(served)
  for (const [index, name] of ['a', 'b', 'c', 'd', 'e'].entries()) {
    const labels = { name, size: String(index), ...(index % 2 === 0 ? { odd: '' } : {}) }
    await place.create(place.secrets, secretOf(name, { metadata: { labels } }))
  }
  await place.create(place.secrets, secretOf('plain', { type: 'Opaque' }))
  return place
}

interface Item {
  readonly metadata: { readonly namespace: string; readonly name: string }
}

async function everyPage(
  ask: Ask,
  path: string,
  parameters: Record<string, string>,
): Promise<readonly Item[]> {
  const { body } = await ask('GET', path + query(parameters))
  const next = body.metadata.continue
  return next
    ? [...body.items, ...(await everyPage(ask, path, { ...parameters, continue: next }))]
    : body.items
}

export function lists(served: Served): void {
  describe('a list', () => {
    test('holds items without a kind when the type is built in, and with one when it is not', async () => {
      const { ask, secrets, releases, create } = await newPlace(served)
      await create(secrets, secretOf('a'))
      await create(releases, releaseOf('r'))
      const listed = (await ask('GET', secrets)).body
      expect(listed).toMatchObject({ kind: 'SecretList', apiVersion: 'v1' })
      expect(listed.metadata.resourceVersion).toMatch(/^[1-9]\d*$/)
      expect(listed.items[0].kind).toBeUndefined()
      expect((await ask('GET', releases)).body).toMatchObject({
        kind: 'HelmReleaseList',
        metadata: { continue: '' },
        items: [{ kind: 'HelmRelease', apiVersion: 'helm.toolkit.fluxcd.io/v2' }],
      })
    })

    test('in a namespace that is not there is empty', async () => {
      const { ask } = await newPlace(served)
      const { status, body } = await ask('GET', '/api/v1/namespaces/nowhere/secrets')
      expect({ status, items: body.items }).toEqual({ status: 200, items: [] })
    })

    test('selects by labels', async () => {
      const { ask, secrets } = await stocked(served)
      const selected = async (labelSelector: string) =>
        namesIn(await ask('GET', secrets + query({ labelSelector })))
      expect(await selected('')).toEqual(['a', 'b', 'c', 'd', 'e', 'plain'])
      expect(await selected('name')).toEqual(['a', 'b', 'c', 'd', 'e'])
      expect(await selected('!name')).toEqual(['plain'])
      expect(await selected('name=a')).toEqual(['a'])
      expect(await selected(' name == a , odd ')).toEqual(['a'])
      expect(await selected('name!=a')).toEqual(['b', 'c', 'd', 'e', 'plain'])
      expect(await selected('name in (a,b)')).toEqual(['a', 'b'])
      expect(await selected('name notin (a, b)')).toEqual(['c', 'd', 'e', 'plain'])
      expect(await selected('odd=')).toEqual(['a', 'c', 'e'])
      expect(await selected('odd in (,x)')).toEqual(['a', 'c', 'e'])
      expect(await selected('name,name in (in)')).toEqual([])
      expect(await selected('size>2')).toEqual(['d', 'e'])
      expect(await selected('size<1,name')).toEqual(['a'])
    })

    test.each([
      [',', "found ',', expected: !, identifier, or 'end of string'"],
      ['name=a,', "found '', expected: identifier after ','"],
      ['name===a', "unable to parse requirement: found '=', expected: identifier"],
      ['name=a b', "found 'b', expected: ',' or 'end of string'"],
      ['!name=a', "found '=', expected: ',' or 'end of string'"],
      ['name is (a)', "unable to parse requirement: found 'is', expected: in, notin, =, ==, !=, gt, lt"],
      ['name in a', "unable to parse requirement: found 'a' expected: '('"],
      ['name in (a', "unable to parse requirement: found '', expected: ',' or ')'"],
      ['name in (a b)', "unable to parse requirement: found 'b', expected: ',' or ')'"],
      [
        'name=-a',
        "unable to parse requirement: values[0][name]: Invalid value: \"-a\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
      ],
    ])('refuses the label selector %j', async (labelSelector, message) => {
      const { ask, secrets } = await newPlace(served)
      const { body } = await ask('GET', secrets + query({ labelSelector }))
      expect(body).toMatchObject({ code: 400, reason: 'BadRequest', message })
    })

    test('selects by name, namespace and type', async () => {
      const { ask, secrets, namespace } = await stocked(served)
      const selected = async (fieldSelector: string) =>
        namesIn(await ask('GET', secrets + query({ fieldSelector })))
      expect(await selected('metadata.name=a')).toEqual(['a'])
      expect(await selected(`metadata.name==b,metadata.namespace=${namespace}`)).toEqual(['b'])
      expect(await selected('metadata.namespace!=default,metadata.name!=a')).toEqual([
        'b',
        'c',
        'd',
        'e',
        'plain',
      ])
      expect(await selected('type=Opaque')).toEqual(['plain'])
    })

    test.each([
      ['data.username=a', 'field label not supported: data.username'],
      ['metadata.name', "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
      ['metadata.name=a\\', 'invalid field selector: invalid escape sequence: \\'],
    ])('refuses the field selector %j', async (fieldSelector, message) => {
      const { ask, secrets } = await newPlace(served)
      expect((await ask('GET', secrets + query({ fieldSelector }))).body).toMatchObject({
        code: 400,
        message,
      })
    })

    test('comes in pages of one version, whatever is written meanwhile', async () => {
      const { ask, secrets, create } = await stocked(served)
      const first = (await ask('GET', `${secrets}?limit=2`)).body
      expect(first.metadata.remainingItemCount).toBe(4)
      await create(secrets, secretOf('bb'))
      await ask('DELETE', `${secrets}/e`)
      const second = await ask('GET', secrets + query({ limit: '2', continue: first.metadata.continue }))
      expect(namesIn(second)).toEqual(['c', 'd'])
      expect(second.body.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
      const third = await ask('GET', secrets + query({ limit: '2', continue: second.body.metadata.continue }))
      expect(namesIn(third)).toEqual(['e', 'plain'])
      expect(third.body.metadata.continue).toBeUndefined()
    })

    test('that selects may end in an empty page, and does not say how much remains', async () => {
      const { ask, secrets } = await stocked(served)
      const selected = { labelSelector: 'name in (a,b)', limit: '2' }
      const first = await ask('GET', secrets + query(selected))
      expect(namesIn(first)).toEqual(['a', 'b'])
      expect(first.body.metadata.remainingItemCount).toBeUndefined()
      const second = await ask(
        'GET',
        secrets + query({ ...selected, continue: first.body.metadata.continue }),
      )
      expect(second.body.items).toEqual([])
      expect(second.body.metadata.continue).toBeUndefined()
    })

    test.each(['0', '-1'])('with the limit %j is whole', async (limit) => {
      const { ask, secrets } = await stocked(served)
      expect(namesIn(await ask('GET', secrets + query({ limit })))).toHaveLength(6)
    })

    test.each([
      { limit: 'abc' },
      { limit: '' },
      { continue: '%%' },
      { continue: 'abc' },
      { continue: Buffer.from('{"v":"meta.k8s.io/v1","rv":0,"start":"/a"}').toString('base64url') },
      { continue: Buffer.from('{"v":"meta.k8s.io/v1","rv":-1,"start":"/../x"}').toString('base64url') },
      { continue: Buffer.from('{"v":"v0","rv":-1,"start":"/a"}').toString('base64url') },
    ])('refuses %j', async (parameters) => {
      const { ask, secrets } = await newPlace(served)
      expect((await ask('GET', secrets + query(parameters))).body).toMatchObject({
        code: 400,
        reason: 'BadRequest',
      })
    })

    test('over all namespaces goes by namespace and name, and is paged alike', async () => {
      const { ask, namespace, create } = await stocked(served)
      const other = `${namespace}-2`
      await create('/api/v1/namespaces', { metadata: { name: other } })
      await create(
        `/api/v1/namespaces/${other}/secrets`,
        secretOf('z', { metadata: { labels: { name: 'z' } } }),
      )
      const seen = (await everyPage(ask, '/api/v1/secrets', { labelSelector: 'name', limit: '3' }))
        .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
        .filter((key) => key.startsWith(namespace))
      // "-" sorts before "/".
      expect(seen).toEqual([`${other}/z`, ...['a', 'b', 'c', 'd', 'e'].map((name) => `${namespace}/${name}`)])
    })

    test('takes no notice of a parameter that it does not know, and of the second of two', async () => {
      const { ask, secrets } = await stocked(served)
      expect(
        namesIn(await ask('GET', `${secrets}?banana=1&labelSelector=name%3Da&labelSelector=name%3Db`)),
      ).toEqual(['a'])
    })
  })
}
