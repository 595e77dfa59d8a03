import { changeMariadbRoot } from './mariadb-root.ts'
import type { Rotator } from './rotator.ts'

/**
 * The probes of mariadb-operator 25.10.2 log in as root with the password that the container was started with
 * (`pkg/builder/container_builder.go`).
 */
const AFTER_ROOT =
  'the probes of its pods go on with the old one, so the database restarts within minutes; with replication or Galera, delete its pods one after the other (docs/converting.md)'

/** By application kind and username. */
const ROTATORS: ReadonlyMap<string, ReadonlyMap<string, Rotator>> = new Map([
  [
    'MariaDB',
    new Map<string, Rotator>([['root', { by: 'exec', change: changeMariadbRoot, after: AFTER_ROOT }]]),
  ],
  ['ClickHouse', new Map<string, Rotator>([['backup', { by: 'upgrade' }]])],
])

/** Undefined for an account that nobody here can rotate. */
export const rotatorOf = (kind: string, username: string): Rotator | undefined =>
  ROTATORS.get(kind)?.get(username)
