import { describe, expect, test } from 'vitest'
import { eventually, newPlace, type Place, releaseOf, secretOf } from '../asking.ts'
import type { Served } from '../kube-api.ts'

const STALE = '00000000-0000-4000-8000-000000000000'

const referenceTo = (name: string, uid: string) => ({
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  name,
  uid,
})

const namesOf = async ({ ask, secrets }: Place): Promise<readonly string[]> =>
  (await ask('GET', secrets)).body.items.map((item: { metadata: { name: string } }) => item.metadata.name)

export function owners(served: Served): void {
  describe('the garbage collector', () => {
    test('takes what belonged to an owner that was deleted, and what that owned', async () => {
      const place = await newPlace(served)
      const { ask, secrets, releases, create } = place
      const { uid } = (await create(releases, releaseOf('r'))).metadata
      const child = await create(
        secrets,
        secretOf('child', { metadata: { ownerReferences: [referenceTo('r', uid)] } }),
      )
      const ownerReferences = [{ apiVersion: 'v1', kind: 'Secret', name: 'child', uid: child.metadata.uid }]
      await create(secrets, secretOf('grandchild', { metadata: { ownerReferences } }))
      await create(secrets, secretOf('free'))
      expect(await namesOf(place)).toEqual(['child', 'free', 'grandchild'])
      await ask('DELETE', `${releases}/r`)
      await eventually(async () => expect(await namesOf(place)).toEqual(['free']))
    })

    test('takes a reference to an owner that is gone off what another one still owns', async () => {
      const place = await newPlace(served)
      const { ask, secrets, releases, create } = place
      const one = (await create(releases, releaseOf('one'))).metadata.uid
      const two = (await create(releases, releaseOf('two'))).metadata.uid
      const ownerReferences = [referenceTo('one', one), referenceTo('two', two)]
      await create(secrets, secretOf('child', { metadata: { ownerReferences } }))
      await ask('DELETE', `${releases}/one`)
      await eventually(async () => {
        const { metadata } = (await ask('GET', `${secrets}/child`)).body
        expect(metadata.ownerReferences.map((owner: { uid: string }) => owner.uid)).toEqual([two])
      })
    })

    test('takes what names an owner by another UID, when it looks', async () => {
      const place = await newPlace(served)
      const { ask, secrets, releases, create } = place
      const { uid } = (await create(releases, releaseOf('r'))).metadata
      await create(secrets, secretOf('ours', { metadata: { ownerReferences: [referenceTo('r', uid)] } }))
      await create(secrets, secretOf('stale', { metadata: { ownerReferences: [referenceTo('r', STALE)] } }))
      // Any delete makes the sandbox look.
      await create(secrets, secretOf('free'))
      await ask('DELETE', `${secrets}/free`)
      await eventually(async () => expect(await namesOf(place)).toEqual(['ours']))
    })

    test('waits for finalizers', async () => {
      const place = await newPlace(served)
      const { ask, secrets, releases, create } = place
      const { uid } = (await create(releases, releaseOf('r'))).metadata
      const metadata = { ownerReferences: [referenceTo('r', uid)], finalizers: ['example.org/hold'] }
      await create(secrets, secretOf('held', { metadata }))
      await ask('DELETE', `${releases}/r`)
      await eventually(async () => {
        expect((await ask('GET', `${secrets}/held`)).body.metadata.deletionTimestamp).toBeDefined()
      })
      const released = { metadata: { finalizers: null } }
      await ask('PATCH', `${secrets}/held`, released, { contentType: 'application/merge-patch+json' })
      expect(await namesOf(place)).toEqual([])
    })
  })
}
