import { decodeUtf8Value, type HeaderLines, valuesOf } from '../core/headers.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { cutBytes } from '../core/text.ts'
import { isAnonymous, isCleanName } from './identity.ts'

/** Whom a request asks to act as. Nothing of it is allowed yet. */
export interface Wanted {
  readonly username: string
  readonly uid: string | undefined
  readonly groups: readonly string[]
  readonly extra: ReadonlyMap<string, readonly string[]>
}

const PREFIX = 'impersonate-'
const USER = 'impersonate-user'
const UID = 'impersonate-uid'
const GROUP = 'impersonate-group'
const EXTRA = 'impersonate-extra-'

/** Each value costs a call to the API server, on behalf of somebody who may not be allowed any. */
const MAX_VALUES = 32
const MAX_SHOWN_BYTES = 128
const ASCII = /^[\x20-\x7e]*$/

type Line = HeaderLines['lines'][number]

/**
 * Reads the headers of Kubernetes impersonation (`k8s.io/api/authentication/v1`): `Impersonate-User`, `-Uid`, `-Group`
 * (repeated) and `-Extra-<key>` (repeated, the key in lower case and percent-encoded). Undefined when there is none.
 *
 * Upstream passes over an empty header, the second user, and a name that it does not know. Here they fail, for their
 * sender would act as somebody else than they believe: `impersonation_unknown`, else `request_malformed`.
 */
export function wantedBy({ lines: all, areJoined }: HeaderLines): Result<Wanted | undefined> {
  const lines = all.filter(([name]) => name.startsWith(PREFIX))
  if (lines.length === 0) return ok(undefined)
  const unknown = lines.find(([name]) => !isKnown(name))
  if (unknown !== undefined) return fail({ reason: 'impersonation_unknown', header: shown(unknown[0]) })
  if (lines.length > MAX_VALUES) return malformed(`more than ${MAX_VALUES} impersonation headers`)
  const read: Line[] = []
  for (const line of lines) {
    const value = readValue(line, areJoined)
    if (!value.ok) return value
    read.push([line[0], value.value])
  }
  return wantedIn({ lines: read, areJoined: false })
}

/** From values as they were meant. */
function wantedIn(headers: HeaderLines): Result<Wanted> {
  const groups = valuesOf(headers, GROUP)
  const [username, ...otherUsers] = valuesOf(headers, USER)
  const [uid, ...otherUids] = valuesOf(headers, UID)
  if (username === undefined) return malformed(`impersonation without ${USER}`)
  if (otherUsers.length > 0) return malformed(`${USER} may be given once only`)
  if (otherUids.length > 0) return malformed(`${UID} may be given once only`)
  if (isAnonymous({ username, groups })) return malformed('nobody is anonymous here, and nobody becomes it')
  const extra = extraIn(headers)
  return extra.ok ? ok({ username, uid, groups, extra: extra.value }) : extra
}

const isKnown = (name: string): boolean => [USER, UID, GROUP].includes(name) || name.startsWith(EXTRA)

/** What a header's value says, when it says one thing only. */
function readValue([name, value]: Line, areJoined: boolean): Result<string> {
  if (value === '') return malformed(`${shown(name)} is empty`)
  if (areJoined && value.includes(',')) {
    return malformed(
      `${shown(name)} is repeated, or has a comma: where this function runs, the two cannot be told apart`,
    )
  }
  if (areJoined && !ASCII.test(value)) {
    return malformed(`${shown(name)} is not ASCII: where this function runs, it can be read in two ways`)
  }
  const text = decodeUtf8Value(value)
  if (text === undefined) return malformed(`${shown(name)} is no UTF-8`)
  if (!isCleanName(text)) return malformed(`${shown(name)} has outer white space or control characters`)
  return ok(text)
}

function extraIn({ lines }: HeaderLines): Result<Wanted['extra']> {
  const extra = new Map<string, readonly string[]>()
  for (const [name, value] of lines) {
    if (!name.startsWith(EXTRA)) continue
    const key = decodeKey(name.slice(EXTRA.length))
    if (key === undefined) return malformed(`${shown(name)} names no key that can be read`)
    extra.set(key, [...(extra.get(key) ?? []), value])
  }
  return ok(extra)
}

/** Upstream keeps a key with half an escape as it is. Undefined here: it would be another key elsewhere. */
function decodeKey(encoded: string): string | undefined {
  try {
    const key = decodeURIComponent(encoded)
    return key !== '' && isCleanName(key) ? key : undefined
  } catch {
    return undefined
  }
}

/** Values are told to nobody: only where they stood. */
const shown = (name: string): string => cutBytes(name, MAX_SHOWN_BYTES)

const malformed = (message: string) => fail({ reason: 'request_malformed', message })
