import { describe, expect, test } from 'vitest'
import type { Backend } from '../backend.ts'
import type { Contract } from '../contract.ts'
import { type Anything, adminOf, decode } from '../kube.ts'
import { leaks, shown } from '../passwords.ts'

/** Every Secret at an account's name, ours or not. */
const secretsOf = async (backend: Backend): Promise<readonly Anything[]> => {
  const { items } = await adminOf(backend.admin).get('/api/v1/secrets')
  return items.filter(({ metadata }: Anything) => metadata.name.endsWith('.account'))
}

export function secrecy({ backend }: Contract): void {
  const passwords = () => [...shown.verified, ...shown.plaintext]

  describe('after all that', () => {
    test('OBS-01: no password of a verifier format was ever stored, in the clear or in base64', async () => {
      expect(shown.verified.size).toBeGreaterThan(20)
      const stored = await backend().stored()
      expect(stored).toContain('credentials.cozystack.io/origin')
      expect(leaks(stored, shown.verified)).toEqual([])
    })

    test('OBS-01: no password of any format was logged', () => {
      const logged = backend().logged()
      expect(logged).toContain('"operation":"Mint"')
      expect(leaks(logged, passwords())).toEqual([])
    })

    test('OBS-01: no answer but the one to its mint shows a password', () => {
      expect(shown.answers.length).toBeGreaterThan(200)
      expect(leaks(shown.answers.join('\n'), passwords())).toEqual([])
    })

    test('OBS-06: no password is in an Event, nor in a label or annotation', async () => {
      const events = await adminOf(backend().admin).get('/apis/events.k8s.io/v1/events')
      const metadata = (await secretsOf(backend())).map((secret) => secret.metadata)
      expect(events.items.length).toBeGreaterThan(0)
      expect(leaks(JSON.stringify([events.items, metadata]), passwords())).toEqual([])
    })

    test('OBS-01, OBS-06: what is stored is in the Secret’s data and nowhere else', async () => {
      const secrets = await secretsOf(backend())
      const values = secrets.map(({ data }) => decode(data?.password)).filter((value) => value.length > 30)
      expect(values.length).toBeGreaterThan(20)
      const events = await adminOf(backend().admin).get('/apis/events.k8s.io/v1/events')
      const metadata = secrets.map((secret) => secret.metadata)
      const elsewhere = [backend().logged(), JSON.stringify([events.items, metadata]), ...shown.answers]
      expect(leaks(elsewhere.join('\n'), values)).toEqual([])
    })

    test('a look for what is there finds it', () => {
      const password = 'Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU'
      for (const shift of ['', 'a', 'ab', 'abc']) {
        expect(leaks(Buffer.from(`${shift}${password}tail`).toString('base64'), [password])).toEqual([
          password,
        ])
      }
    })
  })
}
