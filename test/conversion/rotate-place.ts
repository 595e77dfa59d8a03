import { expect } from 'vitest'
import type { JobServices } from '../../src/conversion/job-options.ts'
import type { ExecInPod } from '../../src/k8s/exec-in-pod.ts'
import { PLATFORM } from './hook-place.ts'
import { type FakeEngine, type JobPlace, jobPlace, takes } from './job-place.ts'

export const SHOP = 'mariadb-shop'
export const EVENTS = 'clickhouse-events'
export const MARK = 'credentials.cozystack.io/suspended-for-rotation'

/** A MariaDB whose chart has switched, and the job not run. */
export async function shop(): Promise<JobPlace> {
  const place = await jobPlace()
  await place.order('shop', { root: 'root-of-old' }, { kind: 'MariaDB', values: { users: {} } })
  return switched(place)
}

/** The same of a ClickHouse. */
export async function events(): Promise<JobPlace> {
  const place = await jobPlace()
  await place.order('events', { backup: 'backup-of-old' }, { kind: 'ClickHouse', values: { users: {} } })
  return switched(place)
}

export async function switched(place: JobPlace): Promise<JobPlace> {
  await place.flux()
  await place.before.convert()
  await place.switchCharts()
  await place.flux()
  return place
}

export const engineOf = (place: JobPlace, name: string): FakeEngine => {
  const engine = place.engines.get(name)
  if (engine === undefined) throw new Error(`no engine ${name}`)
  return engine
}

/** Services with another way into pods; `exec` is the one that works. */
export const withExec = (place: JobPlace, wrap: (exec: ExecInPod) => ExecInPod): JobServices => {
  const services = place.servicesWith()
  return { ...services, exec: wrap(services.exec) }
}

export async function expectRotatedOnce(place: JobPlace, name: string, key: string): Promise<void> {
  const engine = engineOf(place, name)
  const data = await place.data(`${name}-credentials`)
  expect({ takes: takes(engine, data?.[key] ?? ''), changes: engine.changes }).toEqual({
    takes: true,
    changes: 1,
  })
  const { metadata, spec } = await place.release(name)
  expect(spec.suspend).toBeUndefined()
  expect(metadata.annotations?.[MARK]).toBeUndefined()
  expect(await pending(place, metadata.uid)).toBeUndefined()
}

export const pending = (place: JobPlace, uid: string) => place.secret(`credential-rotation-${uid}`, PLATFORM)
