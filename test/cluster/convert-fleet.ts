import { createHash } from 'node:crypto'
import { releaseOf } from '../contract/tenant.ts'

/** What is unusual about a release. */
type Oddity =
  | 'no Secret'
  | 'an empty key'
  | 'a foreign Secret'
  | 'names that collide'
  | 'a reserved name'
  | 'a line break'
  | 'never deployed'
  | 'seeded before'
  | 'never switches'
  | 'a Role stays'
  | 'a label stays'
  | 'suspended'
  | 'no pod'

export interface FleetRelease {
  readonly namespace: string
  readonly kind: 'Postgres' | 'MariaDB' | 'ClickHouse'
  /** Of the HelmRelease. */
  readonly name: string
  /** The HelmRelease. */
  readonly object: object
  /** Passwords from before, by username. */
  readonly tenants: Readonly<Record<string, string>>
  readonly platform: Readonly<Record<string, string>>
  readonly oddity: Oddity | undefined
}

/** Every password of a tenant from before begins so, and none of the platform. */
export const TENANT_MARK = 'old-tenant-'
export const PLATFORM_MARK = 'old-platform-'

const NAMESPACES = 10
/** By the last digit of their number; the others are Postgres. */
const KINDS: Readonly<Record<number, FleetRelease['kind']>> = { 8: 'MariaDB', 9: 'ClickHouse' }

/** Of Postgres, where nothing else is said. */
const ODDITIES: ReadonlyMap<number, Oddity> = new Map<number, Oddity>([
  [10, 'no Secret'],
  [21, 'an empty key'],
  [32, 'a foreign Secret'],
  [43, 'names that collide'],
  [54, 'a reserved name'],
  [65, 'a line break'],
  [66, 'never deployed'],
  [67, 'seeded before'],
  [71, 'never switches'],
  [72, 'a Role stays'],
  [73, 'a label stays'],
  [74, 'suspended'],
  // Of MariaDB.
  [88, 'no pod'],
])

/** The same every time: what is where does not depend on how large it is. */
export const fleetOf = (releases: number): readonly FleetRelease[] =>
  Array.from({ length: releases }, (_, index) => fleetRelease(index))

export const fleetNamespaces: readonly string[] = Array.from(
  { length: NAMESPACES },
  (_, at) => `tenant-${at}`,
)

function fleetRelease(index: number): FleetRelease {
  const namespace = fleetNamespaces[Math.trunc(index / 10) % NAMESPACES] ?? ''
  const kind = KINDS[index % 10] ?? 'Postgres'
  const oddity = ODDITIES.get(index)
  const name = `${kind.toLowerCase()}-r${index}`
  const secretOf = (mark: string, user: string) =>
    `${mark}${createHash('sha256').update(`${name}/${user}`).digest('hex').slice(0, 16)}`
  const passwords = (mark: string, users: readonly string[]) =>
    Object.fromEntries(users.map((user) => [user, secretOf(mark, user)]))
  const tenants = passwords(TENANT_MARK, usersOf(oddity))
  if (oddity === 'a line break') tenants.web = `${tenants.web}\n`
  const users = Object.fromEntries(
    // The chart of MariaDB has them in the values as well.
    Object.entries(tenants).map(([user, password]) => [user, kind === 'MariaDB' ? { password } : {}]),
  )
  const more = { metadata: { namespace }, spec: oddity === 'suspended' ? { suspend: true } : {} }
  const object = releaseOf(kind, `r${index}`, { size: '1Gi', users }, more)
  return {
    namespace,
    kind,
    name,
    object,
    tenants,
    platform: passwords(PLATFORM_MARK, PLATFORM[kind]),
    oddity,
  }
}

const PLATFORM = { Postgres: [], MariaDB: ['root'], ClickHouse: ['backup'] } as const

function usersOf(oddity: Oddity | undefined): readonly string[] {
  if (oddity === 'names that collide') return ['web', 'a_b', 'a-b']
  if (oddity === 'a reserved name') return ['web', 'app']
  return ['web', 'report']
}

/** The usernames whose passwords nothing may take away: no account Secret has replaced them, or tenants still read them. */
export function keptIn({ oddity, tenants }: FleetRelease): readonly string[] {
  switch (oddity) {
    case 'a foreign Secret':
      return ['web']
    case 'names that collide':
      return ['a_b', 'a-b']
    case 'a reserved name':
      return ['app']
    case 'never deployed':
    case 'seeded before':
    case 'never switches':
    case 'a Role stays':
    case 'a label stays':
    case 'suspended':
      return Object.keys(tenants)
    default:
      return []
  }
}

/** The usernames whose accounts have no account Secret of ours at the end. */
export function leftOutIn({ oddity, tenants }: FleetRelease): readonly string[] {
  switch (oddity) {
    case 'no Secret':
      return Object.keys(tenants)
    case 'an empty key':
      return ['report']
    case 'a foreign Secret':
    case 'names that collide':
    case 'a reserved name':
      return keptIn({ oddity, tenants } as FleetRelease)
    default:
      return []
  }
}
