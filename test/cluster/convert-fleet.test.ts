import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { sweep } from '../../src/credentials/sweep.ts'
import { ROOT } from '../cli/command.ts'
import { exampleDefinitions } from '../contract/backends/manifests.ts'
import { type Admin, type Anything, decode } from '../contract/kube.ts'
import { accepts } from '../contract/verify.ts'
import { seeded } from '../helpers/fuzz-http.ts'
import { BY, syncServicesOver } from '../helpers/sync-cluster.ts'
import { type FleetRelease, fleetOf, keptIn, leftOutIn, PLATFORM_MARK, TENANT_MARK } from './convert-fleet.ts'
import { releasePath, secretPath, startFlux } from './convert-flux.ts'
import { nativeHash } from './convert-kubelet.ts'
import { startMeter } from './convert-meter.ts'
import { type ConvertPlace, convertPlace, putCredentials } from './convert-place.ts'
import { type FleetState, isLate, isSuspendedByUs, stateOf } from './convert-state.ts'
import { eventually } from './eventually.ts'

const RELEASES = 500
const KILLS = { hook: 10, job: 20 } as const
/** What a process may send at most before it is killed, in pieces (`convert-meter.ts`): a part of the work. */
const AT_MOST = { hook: 1000, job: 1000 } as const
const IDLE_MS = 5000
const SEED = Number(process.env.MINTONCE_FLEET_SEED ?? Date.now() % 2 ** 32)
const MINUTES = 60_000
const JOB = ['--concurrency=48', '--deadline=25'] as const

const fleet = fleetOf(RELEASES)
const ended: { calm?: FleetState; killed?: FleetState } = {}

describe(`a fleet of ${RELEASES} releases (MINTONCE_FLEET_SEED=${SEED})`, () => {
  test('is converted without a client noticing, and nothing that tenants could read is left', {
    timeout: 10 * MINUTES,
  }, async () => {
    const place = await startPlace()
    const { printed } = await convert(place, async (part, more) => finish(await place.start(part, more)))
    ended.calm = await stateOf(place.admin, fleet)
    await checkPasswords(place, printed)
    await checkPlatform(place)
    expect(ended.calm.pending).toEqual(
      fleet.filter(({ oddity }) => oddity === 'no pod').map(({ namespace, name }) => `${namespace}/${name}`),
    )
    expect(await usedRights(place, 'hook')).toEqual(await grantedRights('hook'))
    // What kube-apiserver asks beside the verb of the request is in no audit log: convert-rights.test.ts has it.
    expect([...(await usedRights(place, 'job')), ' pods/exec create'].toSorted()).toEqual(
      await grantedRights('job'),
    )
  })

  test(`ends the same when both commands are killed at ${KILLS.hook + KILLS.job} random points`, {
    timeout: 10 * MINUTES,
  }, async () => {
    const random = seeded(SEED)
    const place = await startPlace()
    const killed = { hook: 0, job: 0 }
    const { printed } = await convert(place, async (part, more) => {
      const outputs: string[] = []
      while (killed[part] < KILLS[part]) {
        const { hasKilled, output } = await killAfter(
          place,
          part,
          more,
          1 + Math.floor(random() * AT_MOST[part]),
        )
        if (hasKilled) killed[part] += 1
        outputs.push(output)
      }
      const last = await finish(await place.start(part, more))
      return { code: last.code, output: [...outputs, last.output].join('\n') }
    })
    expect(killed).toEqual(KILLS)
    ended.killed = await stateOf(place.admin, fleet)
    await checkPasswords(place, printed)
    await checkPlatform(place)
    expect(ended.killed).toEqual(ended.calm)
  })

  test('has left out what is unusual, each with its cause, and nothing else', () => {
    const skipped = Object.entries(ended.calm?.record ?? {}).flatMap(([key, entry]) =>
      ((entry as Anything).skipped ?? []).map((each: string) => `${key} ${each.split(':')[0]}`),
    )
    expect(skipped.toSorted()).toEqual(
      fleet
        .flatMap(({ namespace, name, oddity }) => {
          const cause = CAUSES[oddity ?? '']
          return cause === undefined ? [] : [`${namespace}.${name} ${cause}`]
        })
        .toSorted(),
    )
  })
})

const CAUSES: Readonly<Record<string, string>> = {
  'no Secret': 'CredentialsMissing',
  'an empty key': 'PasswordMissing',
  'a foreign Secret': 'SecretForeign',
  'names that collide': 'NamesCollide',
  'a reserved name': 'NameReserved',
  // Flux had tried no chart for them when they were recorded.
  'never deployed': 'NotSwitched',
  'seeded before': 'NotSwitched',
  'never switches': 'NotSwitched',
  'a Role stays': 'StillTenantReadable',
  'a label stays': 'StillTenantReadable',
  suspended: 'SuspendedElsewhere',
  'no pod': 'RotationFailed',
}

async function startPlace(): Promise<ConvertPlace> {
  const place = await convertPlace(fleet)
  onTestFinished(place.stop)
  return place
}

type Convert = (
  part: 'hook' | 'job',
  more?: readonly string[],
) => Promise<{ readonly code: number | null; readonly output: string }>

/** Hook, switch, job, with Flux and the function's sweep at work all the while. */
async function convert(place: ConvertPlace, run: Convert): Promise<{ readonly printed: string }> {
  const { admin } = place
  const flux = startFlux(admin, fleet)
  const sweeping = startSweeping(place)
  try {
    await releaseSeeded(place)
    const hooked = await run('hook', ['--concurrency=16'])
    expect({ code: hooked.code, said: lastOf(hooked) }).toMatchObject({ code: 0 })
    await checkHook(place)
    flux.switchCharts()
    for (const definition of exampleDefinitions() as readonly Anything[]) {
      const path = `/apis/cozystack.io/v1alpha1/applicationdefinitions/${definition.metadata.name}`
      await admin.change(path, ({ spec }) => {
        spec.secrets.include = spec.secrets.include.filter(
          (each: Anything) => each.resourceNames === undefined,
        )
      })
    }
    const jobbed = await untilInTime(admin, () => run('job', JOB))
    expect({ code: jobbed.code, said: lastOf(jobbed) }).toMatchObject({ code: 1 })
    await eventually('Flux has nothing to do', async () => flux.isSettled())
    await sweeping.once()
    for (const each of fleet) {
      if (each.kind !== 'ClickHouse') continue
      const { data } = await admin.get(secretPath(each))
      expect(flux.backups.get(releasePath(each)), each.name).toBe(data.backup)
    }
    return { printed: `${hooked.output}${jobbed.output}` }
  } finally {
    await Promise.all([sweeping.stop(), flux.stop()])
  }
}

/** As the page says: while something is left out that may be mended, it is run again. */
async function untilInTime<T>(admin: Admin, run: () => Promise<T>, runsLeft = 5): Promise<T> {
  const done = await run()
  const { record } = await stateOf(admin, fleet)
  const late = Object.values(record).filter((entry) => ((entry as Anything).skipped ?? []).some(isLate))
  return late.length === 0 || runsLeft === 1 ? done : untilInTime(admin, run, runsLeft - 1)
}

const lastOf = ({ output }: { readonly output: string }) => output.slice(-1500)

async function finish(run: Awaited<ReturnType<ConvertPlace['start']>>) {
  return { code: await run.ended, output: run.output() }
}

/** Runs a part until it has sent so much, has waited for long, or has ended by itself. */
async function killAfter(
  place: ConvertPlace,
  part: 'hook' | 'job',
  more: readonly string[] | undefined,
  pieces: number,
) {
  const meter = await startMeter(place.api.plane.url)
  const run = await place.start(part, more, meter.url)
  // What is left then may be only what it waits for.
  const idle = meter.reached(1).then(() => sleep(IDLE_MS))
  const hasKilled = await Promise.race([
    Promise.race([meter.reached(pieces), idle]).then(() => true),
    run.ended.then(() => false),
  ])
  run.kill()
  await Promise.all([run.ended, meter.stop()])
  return { hasKilled, output: run.output() }
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

function startSweeping({ api }: ConvertPlace) {
  const { services } = syncServicesOver(api.asFunction, {
    now: () => Date.now(),
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
    graceMs: 1000,
  })
  const once = async () => {
    const swept = await sweep(services, { by: BY })
    if (!swept.ok) throw new Error(swept.failure.reason)
  }
  let isOn = true
  const running = (async () => {
    while (isOn) {
      await once()
      await new Promise((resolve) => setTimeout(resolve, 1000))
    }
  })()
  return {
    once,
    stop: () => {
      isOn = false
      return running
    },
  }
}

/** One that was seeded as a new application is, before a chart from before came to it with its passwords. */
async function releaseSeeded({ admin }: ConvertPlace): Promise<void> {
  const [of] = fleet.filter(({ oddity }) => oddity === 'seeded before')
  if (of === undefined) throw new Error('there is none')
  await eventually('it is seeded', async () => {
    const path = `/api/v1/namespaces/${of.namespace}/secrets/${of.name}`
    const found = Object.keys(of.tenants).map((user) => admin.find(`${path}.${user}.account`))
    return (await Promise.all(found)).every((each) => each !== undefined)
  })
  await putCredentials(admin, of)
}

/** Every old password logs in, and everything that an old chart reads is as it was. */
async function checkHook({ admin }: ConvertPlace): Promise<void> {
  await checkAccounts({ admin })
  const { items } = await admin.get('/api/v1/secrets')
  const before = new Map<string, Anything>(
    items.map((each: Anything) => [`${each.metadata.namespace}/${each.metadata.name}`, each]),
  )
  for (const { namespace, name, oddity, tenants, platform } of fleet) {
    const secret = before.get(`${namespace}/${name}-credentials`)
    if (oddity === 'no Secret') continue
    const data = Object.fromEntries(
      Object.entries(secret.data).map(([key, value]) => [key, decode(String(value))]),
    )
    expect(data).toEqual({ ...tenants, ...platform, ...(oddity === 'an empty key' && { report: '' }) })
    expect(secret.metadata.labels).toEqual({ 'internal.cozystack.io/tenantresource': 'true' })
  }
}

async function checkAccounts({ admin }: Pick<ConvertPlace, 'admin'>): Promise<void> {
  const selector = 'labelSelector=credentials.cozystack.io%2Faccount%3Dtrue'
  const { items } = await admin.get(`/api/v1/secrets?${selector}`)
  const stored = new Map<string, Anything>(items.map((each: Anything) => [each.metadata.name, each]))
  const wrong = fleet.flatMap((each) =>
    Object.entries(each.tenants).flatMap(([user, password]) =>
      accountProblem(each, user, password, stored.get(`${each.name}.${user}.account`)),
    ),
  )
  expect(wrong).toEqual([])
}

function accountProblem(
  of: FleetRelease,
  user: string,
  password: string,
  secret: Anything | undefined,
): readonly string[] {
  const who = `${of.name} ${user}`
  if (leftOutIn(of).includes(user)) return secret === undefined ? [] : [`${who} has one`]
  if (!accepts(decode(secret?.data.password), password)) return [`${who} cannot log in`]
  return historyProblem(of, user, secret)
}

/** A sweep that had seeded over a plaintext would be the first in it. */
function historyProblem(
  { name, oddity }: FleetRelease,
  user: string,
  { metadata }: Anything,
): readonly string[] {
  const annotations = metadata.annotations
  const operations = JSON.parse(annotations['credentials.cozystack.io/history']).map(
    ({ operation }: Anything) => operation,
  )
  const expected = oddity === 'seeded before' ? 'Migrate,Create' : 'Migrate'
  const isSo = operations.join() === expected && annotations['credentials.cozystack.io/origin'] === 'Migrated'
  return isSo ? [] : [`${name} ${user}: ${operations.join()}`]
}

/** Nothing of etcd, of Events, of the commands has a password that should not be there. */
async function checkPasswords({ admin, api }: ConvertPlace, printed: string): Promise<void> {
  await checkAccounts({ admin })
  const dump = await api.plane.etcdDump()
  const allowed = fleet.flatMap((each) => keptIn(each).map((user) => each.tenants[user]?.trim() ?? ''))
  expect(found(dump, TENANT_MARK)).toEqual(new Set(allowed))
  const platform = fleet
    .filter(({ oddity }) => oddity === 'no pod')
    .flatMap((each) => Object.values(each.platform))
  expect(found(dump, PLATFORM_MARK)).toEqual(new Set(platform))
  expect(printed).not.toContain(TENANT_MARK)
  expect(printed).not.toContain(PLATFORM_MARK)
  // In base64 it would begin in one of three ways. Only what is pending of a rotation holds a password so.
  for (const shift of ['', 'x', 'xx']) {
    const encoded = Buffer.from(`${shift}${TENANT_MARK}`).toString('base64')
    const middle = encoded.slice(shift === '' ? 0 : 4, -4)
    expect(dump.includes(middle)).toBe(false)
    expect(printed).not.toContain(middle)
  }
}

const found = (dump: Buffer, mark: string): ReadonlySet<string> =>
  new Set(dump.toString('latin1').match(new RegExp(`${mark}[0-9a-f]{16}`, 'g')) ?? [])

/** One rotation each, and nobody is locked out. */
async function checkPlatform({ admin, kubelet }: ConvertPlace): Promise<void> {
  const releases = (await admin.get('/apis/helm.toolkit.fluxcd.io/v2/helmreleases'))
    .items as readonly Anything[]
  expect(releases.filter(isSuspendedByUs)).toEqual([])
  for (const each of fleet.filter(({ kind }) => kind === 'MariaDB')) {
    const { data } = await admin.get(secretPath(each))
    const engine = kubelet.engines.get(`${each.namespace}/${each.name}-0`)
    expect(engine, each.name).toEqual({
      rootHash: nativeHash(decode(data.root)),
      changes: each.oddity === 'no pod' ? 0 : 1,
    })
  }
}

/** Each right that the roles of a part grant, as `group resource verb`. */
async function grantedRights(part: 'hook' | 'job'): Promise<readonly string[]> {
  const text = await readFile(join(ROOT, `deploy/convert/${part}/rbac.yaml`), 'utf8')
  const rules = parseAllDocuments(text).flatMap((each): readonly Anything[] => each.toJS().rules ?? [])
  const rights = rules.flatMap(({ apiGroups, resources, verbs }) =>
    verbs.map((verb: string) => `${apiGroups[0]} ${resources[0]} ${verb}`),
  )
  return [...new Set<string>(rights)].toSorted()
}

/** Each that its account has made use of. Who one is, everybody may ask. */
async function usedRights({ api }: ConvertPlace, part: 'hook' | 'job'): Promise<readonly string[]> {
  const who = `system:serviceaccount:mintonce:mintonce-convert-${part}`
  const used = new Set<string>()
  for (const line of (await api.plane.auditLog()).trim().split('\n')) {
    const { user, objectRef, verb, responseStatus }: Anything = JSON.parse(line)
    if (user.username !== who || objectRef === undefined || objectRef.resource === 'selfsubjectreviews')
      continue
    expect(responseStatus?.code, line).not.toBe(403)
    const { apiGroup = '', resource, subresource } = objectRef
    used.add(`${apiGroup} ${subresource === undefined ? resource : `${resource}/${subresource}`} ${verb}`)
  }
  return [...used].toSorted()
}
