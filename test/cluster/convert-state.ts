import { type Admin, type Anything, decode } from '../contract/kube.ts'
import { accepts } from '../contract/verify.ts'
import { type FleetRelease, PLATFORM_MARK } from './convert-fleet.ts'

/** What a conversion has left, without what differs from one run to the next: times, UIDs, salts, new passwords. */
export interface FleetState {
  readonly releases: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, unknown>>
  readonly record: Readonly<Record<string, unknown>>
  readonly events: readonly string[]
  /** The releases whose rotation has not come to its end. */
  readonly pending: readonly string[]
}

const PLATFORM = 'mintonce'

export async function stateOf(admin: Admin, fleet: readonly FleetRelease[]): Promise<FleetState> {
  const [releases, secrets, record, events] = await Promise.all([
    admin.get('/apis/helm.toolkit.fluxcd.io/v2/helmreleases'),
    admin.get('/api/v1/secrets'),
    admin.get(`/api/v1/namespaces/${PLATFORM}/configmaps/credential-conversion`),
    admin.get('/apis/events.k8s.io/v1/events'),
  ])
  const uids = new Map<string, string>(
    releases.items.map(({ metadata }: Anything) => [`${metadata.namespace}.${metadata.name}`, metadata.uid]),
  )
  const byRelease = new Map(fleet.map((each) => [`${each.namespace}/${each.name}`, each]))
  return {
    releases: keyed(releases.items, releaseState),
    secrets: keyed(
      secrets.items.filter(({ metadata }: Anything) => metadata.namespace.startsWith('tenant-')),
      (secret) => secretState(secret, byRelease),
    ),
    record: Object.fromEntries(
      Object.entries(record.data).map(([key, entry]) => [
        key,
        entryState(JSON.parse(String(entry)), uids.get(key)),
      ]),
    ),
    events: [
      ...new Set<string>(
        events.items
          // What did not end in time says how fast this machine is.
          .filter(({ reason, note }: Anything) => reason === 'ConversionSkipped' && !isLate(note))
          .map(
            ({ regarding, note, type }: Anything) =>
              `${type} ${regarding.namespace}/${regarding.name}: ${note}`,
          ),
      ),
    ].toSorted(),
    pending: secrets.items
      .filter(({ metadata }: Anything) => metadata.name.startsWith('credential-rotation-'))
      .map(({ metadata }: Anything) => metadata.annotations['credentials.cozystack.io/rotation-of']),
  }
}

const keyed = (
  items: readonly Anything[],
  of: (item: Anything) => unknown,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    items.map((item) => [`${item.metadata.namespace}/${item.metadata.name}`, of(item)]).toSorted(),
  )

function releaseState({ metadata, spec, status }: Anything) {
  return {
    labels: metadata.labels,
    annotations: Object.keys(metadata.annotations ?? {}).toSorted(),
    spec,
    chartVersion: status?.history?.[0]?.chartVersion,
  }
}

function secretState(secret: Anything, fleet: ReadonlyMap<string, FleetRelease>) {
  const { metadata, type, data = {} } = secret
  const [release = ''] = metadata.name.split(/\.|-credentials$/)
  const of = fleet.get(`${metadata.namespace}/${release}`)
  const annotations = metadata.annotations ?? {}
  return {
    type,
    labels: metadata.labels,
    owners: metadata.ownerReferences?.map(({ kind, name }: Anything) => `${kind}/${name}`),
    origin: annotations['credentials.cozystack.io/origin'],
    history: JSON.parse(annotations['credentials.cozystack.io/history'] ?? '[]').map(
      ({ operation, by }: Anything) => `${operation} ${by}`,
    ),
    rotated: Object.keys(JSON.parse(annotations['credentials.cozystack.io/rotated'] ?? '{}')),
    data: Object.fromEntries(
      Object.entries(data).map(([key, value]) => [
        key,
        valueState(decode(String(value)), key, decode(data.username), of),
      ]),
    ),
  }
}

/** What a value is, in words. */
function valueState(value: string, key: string, username: string, of: FleetRelease | undefined): string {
  if (of === undefined) return value
  if (value === of.platform[key]) return 'the password of the platform from before'
  if (value === of.tenants[key]) return 'the password of the tenant from before'
  if (key in of.platform)
    return value.startsWith(PLATFORM_MARK) ? 'another one from before' : 'a new password'
  if (key !== 'password') return value
  const password = of.tenants[username]
  return password !== undefined && accepts(value, password)
    ? 'accepts the password from before'
    : 'something else'
}

function entryState(entry: Anything, uid: string | undefined) {
  return {
    ...entry,
    uid: entry.uid === uid,
    at: typeof entry.at,
    ...(entry.done && { done: typeof entry.done }),
    ...(entry.skipped && {
      skipped: entry.skipped.map(({ cause, message }: Anything) => `${cause}: ${message}`),
    }),
  }
}

/** A rotation that its run did not wait for any longer: another one goes on with it. */
export const isLate = (said: string): boolean => /^RotationFailed: .* in time\)/.test(said)

export const isSuspendedByUs = (object: Anything): boolean =>
  'credentials.cozystack.io/suspended-for-rotation' in (object.metadata.annotations ?? {})
