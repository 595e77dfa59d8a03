import { describe, expect, test } from 'vitest'
import type { Contract } from '../contract.ts'
import { adminOf } from '../kube.ts'
import { shown } from '../passwords.ts'

/** A password may hide in base64 with any of three alignments. */
const disguises = (password: string): readonly string[] =>
  ['', 'x', 'xx'].map((shift) => {
    const text = Buffer.from(`${shift}${password}`).toString('base64')
    return text.slice(shift.length === 0 ? 0 : 4, shift.length === 0 ? 42 : -4)
  })

const leaks = (haystack: string, passwords: Iterable<string>): readonly string[] =>
  [...passwords].filter((password) =>
    [password, ...disguises(password)].some((form) => haystack.includes(form)),
  )

export function secrecy({ backend }: Contract): void {
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
      expect(leaks(logged, [...shown.verified, ...shown.plaintext])).toEqual([])
    })

    test('OBS-06: no password is in an Event, nor in a label or annotation', async () => {
      const admin = adminOf(backend().admin)
      const events = await admin.get('/apis/events.k8s.io/v1/events')
      const secrets = await admin.get('/api/v1/secrets')
      const metadata = secrets.items.map((secret: { metadata: unknown }) => secret.metadata)
      expect(events.items.length).toBeGreaterThan(0)
      const passwords = [...shown.verified, ...shown.plaintext]
      expect(leaks(JSON.stringify([events.items, metadata]), passwords)).toEqual([])
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
