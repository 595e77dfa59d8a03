import { type Answer, type Credential, createClient, type Issued, type Synced } from '../client/client.ts'
import type { Fetch } from '../core/deps.ts'
import { orderedRelease } from '../sandbox/example.ts'
import { createRecorder, type Exchange, readable } from './recorder.ts'
import { scramAccepts } from './verifier.ts'

interface DemoOptions {
  readonly baseUrl: string
  readonly fetch: Fetch
  /** Stores a HelmRelease, as the platform does. Answers whether the cluster took it. */
  readonly storeRelease: (release: object) => Promise<boolean>
  /** What the cluster holds for an account: `data.password` of its Secret, decoded. Undefined when there is none. */
  readonly readStored: (namespace: string, secret: string) => Promise<string | undefined>
  readonly print: (text: string) => void
}

/** What one step saw: undefined stands for "as expected". */
type Problem = string | undefined

interface Step {
  readonly title: string
  /** Makes at most one call, and answers what it proves, or what is wrong. */
  readonly run: (demo: Demo) => Promise<{ readonly proves: string; readonly problem: Problem }>
}

interface Demo extends Pick<DemoOptions, 'storeRelease' | 'readStored' | 'print'> {
  readonly as: (token: string) => ReturnType<typeof createClient>
  /** What earlier steps saw. */
  readonly seen: { password: string; newerPassword: string; resourceVersion: string }
}

const LEDGER = { namespace: 'tenant-acme', release: 'postgres-ledger' } as const
const WEB = { namespace: LEDGER.namespace, name: `${LEDGER.release}.web` } as const
const SECRET = `${WEB.name}.account`
const PIPELINE = 'system:serviceaccount:tenant-acme:pipeline'
const PASSWORD = /^[A-Za-z0-9]{32}$/

/** Walks through the main job, and prints every step. Answers whether all of them went as they should. */
export async function runDemo({
  baseUrl,
  fetch,
  storeRelease,
  readStored,
  print,
}: DemoOptions): Promise<boolean> {
  const recorder = createRecorder(fetch)
  const demo: Demo = {
    as: (token) => createClient({ baseUrl, token, fetch: recorder.fetch }),
    storeRelease,
    readStored,
    print: (text) => print(indented(text)),
    seen: { password: '', newerPassword: '', resourceVersion: '' },
  }
  const failed: string[] = []
  for (const [index, { title, run }] of STEPS.entries()) {
    print(`\n${index + 1}. ${title}\n`)
    const before = recorder.last()
    const { proves, problem } = await run(demo)
    const exchange = recorder.last()
    if (exchange !== undefined && exchange !== before) demo.print(transcriptOf(exchange))
    print(problem === undefined ? `   ✓ ${proves}` : `   ✗ ${problem}`)
    if (problem !== undefined) failed.push(title)
  }
  print(
    failed.length === 0
      ? '\nAll steps went as they should.'
      : `\nNot as it should be:\n${failed.map((title) => `  - ${title}`).join('\n')}`,
  )
  return failed.length === 0
}

const transcriptOf = ({ command, statusLine, body }: Exchange): string =>
  `$ ${command}\n\n${statusLine}\n${body}\n`

const indented = (text: string): string => text.replace(/^(?=.)/gm, '   ')

const STEPS: readonly Step[] = [
  {
    title: 'A tenant orders the Postgres "ledger" with a user "web": the platform stores a HelmRelease.',
    run: async ({ storeRelease, print }) => {
      const release = orderedRelease()
      print(`${readable(JSON.stringify(release))}\n`)
      const isStored = await storeRelease(release)
      return {
        proves: 'the cluster has it; nothing of it is deployed yet',
        problem: isStored ? undefined : 'the cluster did not take it',
      }
    },
  },
  {
    title: "Jane, the tenant's administrator, lists the credentials: there are none yet.",
    run: async ({ as }) => {
      const listed = await as('tenant-admin').list(WEB.namespace)
      const isEmpty = listed.ok && listed.value.items.length === 0
      return { proves: 'nobody holds a password', problem: isEmpty ? undefined : unexpected(listed) }
    },
  },
  {
    title: 'She asks for a sync. Events and ticks bring one about too, and so does an admission webhook.',
    run: async ({ as }) => {
      const synced = await as('tenant-admin').sync(LEDGER)
      return {
        proves: 'the account has a Secret before its chart needs one',
        problem: createdIn(synced) === '1' ? undefined : unexpected(synced),
      }
    },
  },
  {
    title: 'She reads the credential: it is there, and nobody has its password.',
    run: async ({ as }) => {
      const read = await as('tenant-admin').get(WEB)
      return {
        proves: 'its origin is NotIssued: a random password was thrown away unseen',
        problem: originOf(read) === 'NotIssued' ? undefined : unexpected(read),
      }
    },
  },
  {
    title: 'She mints a password for the user "web" of her Postgres "ledger".',
    run: async ({ as, seen }) => {
      const minted = await as('tenant-admin').mint(WEB)
      seen.password = passwordIn(minted)
      return {
        proves: 'the password is in this answer, and will be in no other',
        problem: PASSWORD.test(seen.password) ? undefined : unexpected(minted),
      }
    },
  },
  {
    title: 'She reads the credential: who got a password and when, and no password.',
    run: async ({ as, seen }) => {
      const read = await as('tenant-admin').get(WEB)
      seen.resourceVersion = read.ok ? read.value.metadata.resourceVersion : ''
      return {
        proves: 'the record names her, and the password is gone',
        problem: originOf(read) === 'Minted' ? quotes(read, seen.password) : unexpected(read),
      }
    },
  },
  {
    title: `What the cluster holds (data.password of Secret ${SECRET}), checked by code of its own.`,
    run: async ({ readStored, print, seen }) => {
      const stored = await show(readStored, print)
      return {
        proves: 'it accepts the password, refuses another, and is not the password',
        problem: problemOfStored(stored, { accepts: seen.password, refuses: `${seen.password}x` }),
      }
    },
  },
  {
    title: 'A pipeline with a ServiceAccount token mints for the same user: that replaces the password.',
    run: async ({ as, seen }) => {
      const minted = await as('pipeline').mint(WEB)
      seen.newerPassword = passwordIn(minted)
      const isNew = PASSWORD.test(seen.newerPassword) && seen.newerPassword !== seen.password
      return { proves: 'another password', problem: isNew ? undefined : unexpected(minted) }
    },
  },
  {
    title: 'Jane mints once more, on condition that nothing changed since she read the credential.',
    run: async ({ as, seen }) => {
      const { resourceVersion } = seen
      const refused = await as('tenant-admin').mint(WEB, { preconditions: { resourceVersion } })
      return {
        proves: 'nothing was written, and she learns who was faster',
        problem: refusal(refused, 409, `issued by ${PIPELINE} at `),
      }
    },
  },
  {
    title: 'Victor may view, and tries to mint.',
    run: async ({ as }) => {
      const refused = await as('tenant-viewer').mint(WEB)
      return { proves: 'RBAC decides', problem: refusal(refused, 403, 'victor@example.org') }
    },
  },
  {
    title: 'Jane revokes: the password becomes one that nobody has seen.',
    run: async ({ as }) => {
      const revoked = await as('tenant-admin').revoke(WEB)
      const isSilent = revoked.ok && revoked.value.status.password === undefined
      return { proves: 'no password in the answer', problem: isSilent ? undefined : unexpected(revoked) }
    },
  },
  {
    title: `What the cluster holds now (data.password of Secret ${SECRET}).`,
    run: async ({ readStored, print, seen }) => {
      const stored = (await show(readStored, print)) ?? ''
      const isVoid = [seen.password, seen.newerPassword].every((known) => !scramAccepts(stored, known))
      return {
        proves: 'it refuses every password that was handed out',
        problem:
          stored !== '' && isVoid ? undefined : 'it accepts a password that was revoked, or is missing',
      }
    },
  },
]

async function show(
  readStored: DemoOptions['readStored'],
  print: Demo['print'],
): Promise<string | undefined> {
  const stored = await readStored(WEB.namespace, SECRET)
  print(`${stored ?? '(no such Secret)'}\n`)
  return stored
}

function problemOfStored(
  stored: string | undefined,
  { accepts, refuses }: { readonly accepts: string; readonly refuses: string },
): Problem {
  if (stored === undefined) return 'there is no such Secret'
  if (stored.includes(accepts)) return 'the Secret holds the password itself'
  if (!scramAccepts(stored, accepts)) return 'the verifier does not accept the password that was shown'
  return scramAccepts(stored, refuses) ? 'the verifier accepts another password' : undefined
}

const passwordIn = (minted: Answer<Issued>): string => (minted.ok ? (minted.value.status.password ?? '') : '')

const createdIn = (synced: Answer<Synced>): string | undefined =>
  synced.ok ? synced.value.details.causes.find(({ reason }) => reason === 'Created')?.message : undefined

const originOf = (read: Answer<Credential>): string | undefined =>
  read.ok ? read.value.status.password.origin : undefined

const quotes = (read: Answer<Credential>, password: string): Problem =>
  JSON.stringify(read).includes(password) ? 'the answer quotes the password' : undefined

function refusal(answer: Answer<Issued>, code: number, says: string): Problem {
  if (answer.ok || answer.failure.kind !== 'status') return unexpected(answer)
  const { failure } = answer
  return failure.code === code && failure.message.includes(says) ? undefined : unexpected(answer)
}

function unexpected(answer: Answer<unknown>): string {
  if (answer.ok) return 'this is not the answer that was expected'
  const { failure } = answer
  if (failure.kind === 'silence') return `no answer: ${failure.message}`
  if (failure.kind === 'foreign') return `not an answer of the function (code ${failure.code})`
  return `not expected: ${failure.code} ${failure.reason}: ${failure.message}`
}
