import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import type { Given } from './rotate.ts'

/** Who wrote it last. It makes each write another version; the data, which pods may mount, stays as it is. */
const CLAIM = 'rotation-claim'

interface Place {
  readonly namespace: string
  readonly name: string
}

type Data = Readonly<Record<string, string>>

/** As much of a Secret as is read here; the rest goes back as it came. */
interface Secret {
  readonly metadata: object & { readonly annotations?: object }
  readonly data?: Data
}

/** The Secret from which the application has its login. This rotation is the only one that writes it. */
export interface LoginSecret {
  /** Undefined when there is none, or none with a password yet. Throws when it holds something else than a login. */
  readonly given: () => Given | undefined
  /** Throws when somebody else has written since this program did or, at first, since it read. */
  readonly claim: () => Promise<void>
  /** The same, with what the application is given from now on. */
  readonly give: (given: Given) => Promise<void>
}

/** Reads it with kubectl, as whom that is. Throws when it cannot. */
export async function readLoginSecret(place: Place): Promise<LoginSecret> {
  const got = await kubectl(place, ['get', 'secret', place.name, '--ignore-not-found'])
  let current = got === '' ? undefined : parse(got)

  const write = async (data: Data) => {
    const { metadata } = current ?? {}
    const annotations = { ...metadata?.annotations, [CLAIM]: randomUUID() }
    const next = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/basic-auth',
      ...current,
      metadata: { name: place.name, ...metadata, annotations },
      data,
    }
    // A replace with the version that was read is refused when there is another one by now.
    const how = current === undefined ? 'create' : 'replace'
    current = parse(await kubectl(place, [how, '-f', '-'], JSON.stringify(next)))
  }
  return {
    given: () => givenIn(current?.data),
    claim: () => write(current?.data ?? encoded({ username: '' })),
    give: ({ login, former }) => write(encoded({ ...login, ...(former === undefined ? {} : { former }) })),
  }
}

function givenIn(data: Data = {}): Given | undefined {
  if (data.password === undefined) return undefined
  const [credential, username, password, former] = ['credential', 'username', 'password', 'former'].map(
    (key) => Buffer.from(data[key] ?? '', 'base64').toString(),
  )
  if (!credential || !username || !password) {
    throw new Error('the Secret has no credential, username and password')
  }
  return { login: { credential, username, password }, ...(former ? { former } : {}) }
}

const encoded = (data: object): Data =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]))

/** A parser's message would quote what it read. */
function parse(json: string): Secret {
  try {
    return JSON.parse(json) as Secret
  } catch {
    throw new Error('kubectl printed no Secret')
  }
}

/** What it prints. Throws without its words, which may quote what was sent, unless nothing was. */
async function kubectl({ namespace }: Place, args: readonly string[], input?: string): Promise<string> {
  const child = spawn('kubectl', ['-n', namespace, ...args, '-o', 'json'])
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const code = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const [ended, printed, said] = await Promise.all([code, text(child.stdout), text(child.stderr)])
  if (ended === 0) return printed
  const [verb = ''] = args
  if (input === undefined) throw new Error(`kubectl ${verb}: ${said.trim()}`)
  const isConflict = /\((?:Conflict|AlreadyExists)\)/.test(said)
  throw new Error(`kubectl ${verb} of the Secret failed${isConflict ? ': somebody else has written it' : ''}`)
}
