import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JobServices } from '../../src/conversion/job-options.ts'
import { createExec } from '../../src/k8s/node-exec.ts'
import { decode } from '../contract/kube.ts'
import { PLATFORM } from '../conversion/hook-place.ts'
import { type JobPlace, jobPlace } from '../conversion/job-place.ts'
import { type MariadbRoot, startMariadbRoot } from './mariadb-root.ts'

/** With what a shell, an option file and SQL would each take for something else. */
const OLD = `o'l"d $(id) \\n #;%25 \u00fc`
const CREDENTIALS = 'mariadb-shop-credentials'

describe('the root of a real MariaDB', () => {
  let mariadb: MariadbRoot
  /** What root has been given last. */
  let current = OLD
  beforeAll(async () => {
    mariadb = await startMariadbRoot(OLD.replaceAll('\\', '\\\\').replaceAll("'", "''"))
  })
  afterAll(() => mariadb?.stop())

  async function switched(password: string): Promise<JobPlace> {
    const place = await jobPlace()
    await place.order('shop', { root: password }, { kind: 'MariaDB', values: { users: {} } })
    await place.flux()
    await place.before.convert()
    await place.switchCharts()
    await place.flux()
    return place
  }

  const intoPods = (services: JobServices): JobServices => ({
    ...services,
    exec: createExec(
      { server: mariadb.endpoint.url, credentials: async () => ({ headers: {}, tls: {} }) },
      { timeoutMs: 30_000, maxBytes: 65_536 },
    ),
  })

  const rootOf = async (place: JobPlace): Promise<string> => (await place.data(CREDENTIALS))?.root ?? ''

  test('gets another password, the old one is refused, and none is seen in a process or a statement', async () => {
    expect(await mariadb.takes(OLD)).toBe(true)
    const place = await switched(OLD)
    const outcome = await place.run({}, intoPods(place.servicesWith()))
    expect(outcome).toMatchObject({ is: 'finished', skipped: [], releases: [{ rotated: ['root'] }] })
    const rotated = await rootOf(place)
    current = rotated
    expect(rotated).not.toBe(OLD)
    expect(await mariadb.takes(rotated)).toBe(true)
    expect(await mariadb.takes(OLD)).toBe(false)

    const processes = await mariadb.processes()
    expect(processes).toContain('started with: --defaults-extra-file=/dev/fd/3 --user=root')
    expect(processes).toContain('SAID=seen-in-the-environment')
    const statements = await mariadb.statements()
    expect(statements).toContain('ALTER USER')
    for (const seen of [
      processes,
      statements,
      JSON.stringify([outcome, place.logged, mariadb.endpoint.requests]),
    ]) {
      expect(seen).not.toContain(rotated)
      expect(seen).not.toContain("o'l")
    }
  })

  test('is rotated once when the job is killed between ALTER USER and the Secret', async () => {
    const before = current
    const place = await switched(before)
    const killed = Promise.withResolvers<void>()
    const services = intoPods(place.servicesWith())
    const never = new Promise<never>(() => {})
    const dying: JobServices = {
      ...services,
      kube: {
        ...services.kube,
        updateSecret: (secret, options) => {
          if (secret.metadata.name !== CREDENTIALS) return services.kube.updateSecret(secret, options)
          killed.resolve()
          return never
        },
      },
    }
    await Promise.race([place.run({}, dying), killed.promise])
    expect(await rootOf(place)).toBe(before)
    expect(await mariadb.takes(before)).toBe(false)
    const { metadata, spec } = await place.release('mariadb-shop')
    expect(spec.suspend).toBe(true)
    const pending = await place.secret(`credential-rotation-${metadata.uid}`, PLATFORM)
    const [{ password }] = JSON.parse(decode(pending.data.rotation)).accounts
    expect(await mariadb.takes(password)).toBe(true)

    const alters = async () => (await mariadb.statements()).split('ALTER USER').length
    const sofar = await alters()
    expect(await place.run({}, intoPods(place.servicesWith()))).toMatchObject({ skipped: [] })
    expect(await rootOf(place)).toBe(password)
    expect(await mariadb.takes(password)).toBe(true)
    expect(await alters()).toBe(sofar)
    expect((await place.release('mariadb-shop')).spec.suspend).toBeUndefined()
    current = password
  })

  test('is left as it is when its client does not read so long a password', async () => {
    const place = await switched('x'.repeat(5_000))
    const outcome = await place.run({}, intoPods(place.servicesWith()))
    expect(outcome).toMatchObject({
      skipped: [{ cause: 'RotationFailed', message: expect.stringContaining('exit code 2') }],
    })
    expect(await mariadb.takes(current)).toBe(true)
    expect((await place.release('mariadb-shop')).spec.suspend).toBeUndefined()
  })

  test('is left as it is when it takes neither password', async () => {
    const place = await switched('never was it')
    const outcome = await place.run({}, intoPods(place.servicesWith()))
    expect(outcome).toMatchObject({ skipped: [{ cause: 'RotationFailed' }] })
    expect(await mariadb.takes(current)).toBe(true)
    expect((await place.release('mariadb-shop')).spec.suspend).toBeUndefined()
  })
})
