import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminOf, decode } from '../contract/kube.ts'
import { accepts } from '../contract/verify.ts'
import { type ControlPlane, startControlPlane } from '../control-plane/start.ts'
import { releasePath, statusOf } from './convert-flux.ts'
import { type Run, startPart } from './convert-place.ts'
import { type Followed, follow } from './follow.ts'
import { applyPlatform } from './platform.ts'
import { build } from './shipped.ts'
import { read, succeed } from './stand-ins.ts'

const TENANT = 'tenant-acme'
/** By release: the passwords from before. */
const PASSWORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'postgres-orders': { web: 'old password of web', report: 'old password of report' },
  'mariadb-shop': { app: 'old password of app' },
  'clickhouse-events': { etl: 'old password of etl' },
}
const RELEASES = Object.keys(PASSWORDS)
/** Whose passwords are not there at first. */
const LATE = 'mariadb-shop'

describe('docs/converting.md', () => {
  let plane: ControlPlane
  let page: Followed

  beforeAll(async () => {
    plane = await startControlPlane()
    await applyPlatform(plane)
    await plane.apply(await build('deploy/base', plane))
    for (const [release, passwords] of Object.entries(PASSWORDS)) {
      if (release !== LATE) await plane.apply([credentialsOf(release, passwords)])
      await deployed(release, '1.0.0', 1)
    }
    page = await follow('docs/converting.md', plane, (block) =>
      `export PATH="$PWD/bin:$PATH"\n${block}`.replace('npm ci && ', ''),
    )
  })
  afterAll(async () => {
    await page?.remove()
    await plane?.stop()
  })

  /** For Flux. */
  async function deployed(release: string, chartVersion: string, version: number): Promise<void> {
    const path = releasePath({ namespace: TENANT, name: release })
    await adminOf(plane.adminFetch).change(`${path}/status`, (object) => {
      object.status = {
        ...statusOf({ namespace: TENANT, name: release }, chartVersion, version),
        observedGeneration: object.metadata.generation,
      }
    })
  }

  const mintRoles = async () =>
    Object.keys((await read(plane, 'clusterrole', 'mintonce:mint')).metadata.labels).filter((label) =>
      label.startsWith('rbac.cozystack.io/'),
    )

  test('1. the blocks are right, the overlays are there, and nobody mints', async () => {
    const printed = await page.run('1. Before')
    expect(printed).toMatch(/mintonce convert hook/)
    for (const kind of ['Postgres', 'MariaDB', 'ClickHouse']) expect(printed).toContain(kind)
    expect(await mintRoles()).toEqual([])
  })

  test('2. a dry run says what would be, and writes nothing', async () => {
    const printed = await page.run('2. The hook, dry')
    expect(printed.match(/created with the value of the password from before$/gm)).toHaveLength(3)
    expect(await succeed(plane, ['get', 'secrets', '-n', TENANT, '-o', 'name'])).not.toContain('.account')
  })

  test('3. the hook converts them, and the page shows it', async () => {
    await page.run('3. The hook')
    const job = await read(plane, 'job/mintonce-convert-hook', '-n', 'mintonce')
    expect(job.spec.template.spec.containers[0].image).toBe('registry.example.org/mintonce:0.1.0')
    const hook = async () => {
      const { code, output } = await finish(await startPart(plane, 'hook'))
      expect({ code, output }).toMatchObject({ code: 0 })
      return page.run('Look at it')
    }
    const shown = await hook()
    for (const release of RELEASES)
      expect(shown).toMatch(new RegExp(`^${TENANT}\\.${release} \\{.*"1.0.0"`, 'm'))
    expect(shown).toMatch(
      new RegExp(`^${TENANT}\\.${LATE} \\{.*"skipped":\\[\\{"cause":"CredentialsMissing"`, 'm'),
    )
    expect(shown).toMatch(new RegExp(`ConversionSkipped .*${LATE} .*CredentialsMissing: `))
    expect(shown.match(/\.account +Migrated$/gm)).toHaveLength(3)
    // As its hint says: restored, and run again.
    await plane.apply([credentialsOf(LATE, PASSWORDS[LATE] ?? {})])
    expect((await hook()).match(/\.account +Migrated$/gm)).toHaveLength(4)
  })

  test('every old password is accepted by what is stored', async () => {
    for (const [release, passwords] of Object.entries(PASSWORDS)) {
      for (const [user, password] of Object.entries(passwords)) {
        const { data } = await read(plane, 'secret', `${release}.${user}.account`, '-n', TENANT)
        expect(accepts(decode(data.password), password)).toBe(true)
      }
    }
  })

  test('4. the switch can be watched', async () => {
    for (const release of RELEASES) {
      const label = 'internal.cozystack.io/tenantresource=false'
      await succeed(plane, ['label', 'secret', `${release}-credentials`, '-n', TENANT, label, '--overwrite'])
      await succeed(plane, [
        ...['patch', 'applicationdefinition', release.split('-')[0] ?? '', '--type=merge'],
        ...['--patch', '{"spec":{"secrets":{"include":[]}}}'],
      ])
      await deployed(release, '2.0.0', 2)
    }
    const shown = await page.run('4. The switch')
    for (const release of RELEASES) expect(shown).toMatch(new RegExp(`${release} +2\\.0\\.0 +True$`, 'm'))
  })

  test('5. the job clears them, dry at first', async () => {
    const printed = await page.run('5. The job')
    for (const release of RELEASES) expect(printed).toContain(release)
    expect(await read(plane, 'secret', 'postgres-orders-credentials', '-n', TENANT)).toBeDefined()
    const { code, output } = await finish(await startPart(plane, 'job'))
    expect({ code, output }).toMatchObject({ code: 0 })
    const left = await succeed(plane, ['get', 'secrets', '-n', TENANT, '-o', 'name'])
    expect(left).not.toContain('-credentials')
  })

  test('6. nothing is left, and the rights of the conversion are gone', async () => {
    const shown = await page.run('6. Check')
    for (const line of [
      'nothing was left out',
      'no rotation is under way',
      'nothing is suspended',
      'none is readable',
    ]) {
      expect(shown).toMatch(new RegExp(`^${line}$`, 'm'))
    }
    expect(await mintRoles()).toEqual([
      'rbac.cozystack.io/aggregate-to-tenant',
      'rbac.cozystack.io/aggregate-to-tenant-admin',
    ])
    const kinds =
      'clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings'
    expect(await succeed(plane, ['get', kinds, '-o', 'name'])).not.toContain('convert')
    expect(await read(plane, 'configmap', 'credential-conversion', '-n', 'mintonce')).toBeDefined()
  })

  test('all of it was run', () => {
    expect(page.left()).toEqual([])
  })
})

const finish = async (run: Run) => ({ code: await run.ended, output: run.output() })

const credentialsOf = (release: string, passwords: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: `${release}-credentials`,
    namespace: TENANT,
    labels: { 'internal.cozystack.io/tenantresource': 'true' },
  },
  stringData: passwords,
})
