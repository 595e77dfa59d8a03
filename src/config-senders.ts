import type { EventSenders } from './auth/event-sender.ts'

/** Who may tell the function to look at releases. */
export interface Senders {
  readonly eventSenders: EventSenders
  /** Of Flux's notification-controller. */
  readonly fluxKeys: readonly string[]
}

export const SENDER_VARIABLES = [
  'MINTONCE_EVENTS_KEYS',
  'MINTONCE_EVENTS_AUDIENCE',
  'MINTONCE_EVENTS_SENDERS',
  'MINTONCE_FLUX_KEYS',
] as const

type Env = Readonly<Record<string, string | undefined>>

/** Two at once while one takes the place of the other. */
const MAX_KEYS = 2
/** What reads the same in a bearer token (RFC 6750, section 2.1) and, unencoded, in an attribute of an event. */
const KEY = /^[A-Za-z0-9._~+/=-]{16,}$/

/** Adds to the problems, by variable and never with a key. */
export function readSenders(env: Env, problems: string[]): Senders {
  return {
    eventSenders: { keys: readKeys(env, 'MINTONCE_EVENTS_KEYS', problems), oidc: readOidc(env, problems) },
    fluxKeys: readKeys(env, 'MINTONCE_FLUX_KEYS', problems),
  }
}

function readKeys(env: Env, name: string, problems: string[]): readonly string[] {
  const keys = (env[name] ?? '').split(/\s+/).filter((key) => key !== '')
  if (keys.length <= MAX_KEYS && keys.every((key) => KEY.test(key))) return keys
  problems.push(
    `${name}: must be one or two keys of at least 16 letters, digits and "._~+/=-", separated by white space`,
  )
  return []
}

function readOidc(env: Env, problems: string[]): EventSenders['oidc'] {
  const audience = env.MINTONCE_EVENTS_AUDIENCE || undefined
  const usernames = (env.MINTONCE_EVENTS_SENDERS ?? '')
    .split(',')
    .map((username) => username.trim())
    .filter((username) => username !== '')
  if (audience !== undefined && usernames.length > 0) return { audience, usernames }
  if (audience !== undefined) {
    problems.push('MINTONCE_EVENTS_SENDERS: must name at least one user beside MINTONCE_EVENTS_AUDIENCE')
  }
  if (usernames.length > 0) {
    problems.push('MINTONCE_EVENTS_AUDIENCE: must be set beside MINTONCE_EVENTS_SENDERS')
  }
  return undefined
}
