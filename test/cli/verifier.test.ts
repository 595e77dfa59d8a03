import { createHash, createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { scramAccepts } from '../../src/cli/verifier.ts'

/** The exchange of RFC 7677, section 3: user "user", password "pencil". */
const RFC_7677 = {
  clientFirstBare: 'n=user,r=rOprNGfwEbeRWgbNEkqO',
  serverFirst: 'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096',
  clientFinalWithoutProof: 'c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0',
  proof: 'dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=',
  serverSignature: '6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=',
}
const STORED_KEY = 'WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY='
const SERVER_KEY = 'wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU='
const VERIFIER = `SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$${STORED_KEY}:${SERVER_KEY}`

test('the two keys below are those of the published exchange', () => {
  const { clientFirstBare, serverFirst, clientFinalWithoutProof, proof, serverSignature } = RFC_7677
  const message = `${clientFirstBare},${serverFirst},${clientFinalWithoutProof}`
  const sign = (key: string) => createHmac('sha256', Buffer.from(key, 'base64')).update(message).digest()
  expect(sign(SERVER_KEY).toString('base64')).toBe(serverSignature)
  // RFC 5802, section 3: ClientKey is the proof XOR the client's signature, and StoredKey its hash.
  const signature = sign(STORED_KEY)
  const clientKey = Buffer.from(proof, 'base64').map((byte, index) => byte ^ (signature[index] ?? 0))
  expect(createHash('sha256').update(clientKey).digest('base64')).toBe(STORED_KEY)
})

test('accepts the password of the published exchange, and no other', () => {
  expect(scramAccepts(VERIFIER, 'pencil')).toBe(true)
  expect(scramAccepts(VERIFIER, 'pencils')).toBe(false)
})

test.each([
  ['iterations', VERIFIER.replace('4096', '4095')],
  ['salt', VERIFIER.replace('W22Z', 'W22Y')],
  ['StoredKey', VERIFIER.replace('$WG5d', '$WG5e')],
  ['ServerKey', VERIFIER.replace(':wfPL', ':wfPM')],
])('refuses the password when the %s are changed', (_part, verifier) => {
  expect(scramAccepts(verifier, 'pencil')).toBe(false)
})

test.each(['', 'pencil', 'SCRAM-SHA-256$4096:$a:b', 'SCRAM-SHA-256$x:a$b:c'])(
  '%j is no verifier, and accepts nothing',
  (value) => {
    expect(scramAccepts(value, value)).toBe(false)
  },
)

test('shares no code with the formats that it checks', async () => {
  const source = await readFile(new URL('../../src/cli/verifier.ts', import.meta.url), 'utf8')
  const imports = [...source.matchAll(/from '([^']+)'/g)].map(([, from]) => from)
  expect(imports).toEqual(['node:crypto'])
})
