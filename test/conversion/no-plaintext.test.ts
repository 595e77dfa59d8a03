import { expect, test } from 'vitest'
import { hookPlace, TENANT } from './hook-place.ts'

/** Each in a way of its own: converted, suspicious, or left. */
const PASSWORDS: Readonly<Record<string, string>> = {
  fine: 'Pl41nt3xt-of-fine',
  spaced: '  Pl41nt3xt-of-spaced  ',
  line: 'Pl41nt3xt-of-line\n',
  nul: 'Pl41nt3xt-of\0nul',
  stored: `md5${'f00dface'.repeat(4)}`,
  long: `Pl41nt3xt-of-long${'x'.repeat(1100)}`,
  foreign: 'Pl41nt3xt-of-foreign',
  refused: 'Pl41nt3xt-of-refused',
  'a.b': 'Pl41nt3xt-of-a-dot-b',
  'a-b': 'Pl41nt3xt-of-a-b',
}

/** As an honest mistake would wrap it. */
const disguises = (password: string): readonly string[] => {
  const bytes = Buffer.from(password)
  const whole = bytes.subarray(0, bytes.length - (bytes.length % 3))
  return [
    password.trim(),
    JSON.stringify(password).slice(1, -1),
    whole.toString('base64'),
    bytes.toString('hex'),
  ]
}

test('no password is in any line, outcome, record, Event or request of the hook', async () => {
  const place = hookPlace()
  for (const [kind, name] of [
    ['Postgres', 'orders'],
    ['MariaDB', 'shop'],
    ['ClickHouse', 'events'],
  ] as const) {
    await place.order(name, PASSWORDS, { kind })
    await place.admin.create(`/api/v1/namespaces/${TENANT}/secrets`, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${kind.toLowerCase()}-${name}.foreign.account` },
    })
  }
  place.way.add({
    when: ({ method, body }) => method === 'POST' && body.includes('.refused.account'),
    // A server may quote what it refuses.
    fault: { answer: 422, body: { kind: 'Status', message: `Invalid value: ${PASSWORDS.refused}` } },
  })
  const dry = await place.run({ dryRun: true })
  const outcome = await place.run()
  expect(outcome).toMatchObject({ is: 'finished', total: 3 })
  const said = [
    JSON.stringify([dry, outcome, place.logged, await place.record(), await place.events()]),
    ...place.way.calls().flatMap(({ path, body }) => [path, body]),
  ].join('\n')
  // What is looked through is what there is.
  for (const cause of ['PasswordUnconvertible', 'PasswordLooksStored', 'WriteRefused', 'NamesCollide']) {
    expect(said).toContain(cause)
  }
  for (const password of Object.values(PASSWORDS)) {
    for (const each of disguises(password)) expect(said).not.toContain(each)
  }
})
