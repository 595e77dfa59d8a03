import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ConvertCommand } from '../../src/cli/convert-command-line.ts'
import { convertJob } from '../../src/cli/convert-job.ts'
import { createConvertOutput } from '../../src/cli/convert-output.ts'
import type { Fetch } from '../../src/core/deps.ts'
import { noMetrics } from '../../src/core/metrics.ts'
import { PLATFORM, TENANT } from '../conversion/hook-place.ts'
import { type JobPlace, jobPlace, switchedDefinitions } from '../conversion/job-place.ts'
import { message, startExecEndpoint, statusMessage } from '../helpers/exec-endpoint.ts'
import { temporaryFolder } from '../k8s/loopback.ts'
import { runCommand } from './command.ts'

// What runs commands in pods is loaded at the first of them, and takes its time on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const SECRETS_OF = /hunter|of-old/

const COMMAND: ConvertCommand = {
  part: 'job',
  cluster: undefined,
  definitions: [],
  platformNamespace: PLATFORM,
  namespace: undefined,
  dryRun: false,
  output: 'table',
  concurrency: 4,
  deadlineSeconds: 60,
}

async function switched(): Promise<JobPlace> {
  const place = await jobPlace()
  await place.order('orders', { web: 'hunter2', report: 'hunter3' })
  await place.order(
    'shop',
    { app: 'hunter4', root: 'root-of-old' },
    { kind: 'MariaDB', values: { users: { app: { password: 'hunter4' } } } },
  )
  await place.flux()
  await place.before.convert()
  await place.switchCharts()
  await place.flux()
  return place
}

/** The command with the parts of this place, and a client of MariaDB that is always let in. */
async function run(place: JobPlace, more: Partial<ConvertCommand> = {}, isTerminal = false) {
  const endpoint = await startExecEndpoint({
    react: () => ({ send: [message(1, 'root@localhost\n'), statusMessage({ status: 'Success' })] }),
  })
  onTestFinished(() => endpoint.stop())
  const printed: string[] = []
  const written: string[] = []
  const { kube, conversionKube, deps, wait } = place.servicesWith()
  const command = { ...COMMAND, ...more }
  const output = createConvertOutput({
    format: command.output,
    isTerminal,
    log: (level, event, fields) => void written.push(JSON.stringify({ level, event, ...fields })),
    print: (text) => void printed.push(text),
    write: (text) => void written.push(text),
  })
  const code = await convertJob(
    {
      config: { webhookHosts: [], kubeTimeoutMs: 5000 },
      kube: kube as Parameters<typeof convertJob>[0]['kube'],
      conversionKube: conversionKube as Parameters<typeof convertJob>[0]['conversionKube'],
      execWay: { server: endpoint.url, credentials: async () => ({ headers: {}, tls: {} }) },
      deps: { ...deps, metrics: noMetrics, log: output.log },
      wait,
      readDocuments: async () =>
        switchedDefinitions().map(({ definition }) => ({ kind: 'ApplicationDefinition', ...definition })),
      signal: new AbortController().signal,
      output,
    },
    command,
  )
  return { code, out: printed.join('\n'), err: written.join('\n'), requests: endpoint.requests }
}

test('says how many of what it did, in a table, and what it does line by line', async () => {
  const place = await switched()
  const { code, out, err, requests } = await run(place)
  expect(code).toBe(0)
  const counts = out.split('\n').filter((line) => /^\d/.test(line))
  expect(counts.map((line) => line.trim().replace(/ {2,}/, ' '))).toEqual([
    '2 recorded releases that were looked at',
    '0 recorded releases that were done before',
    '2 releases that are done now',
    '0 releases that do not exist any more',
    '0 account Secrets that were still missing',
    '1 passwords taken out of the values of releases',
    '3 passwords of tenants deleted from the Secrets from before',
    '1 of these Secrets deleted as a whole',
    '1 passwords of the platform rotated',
    '0 passwords of the platform that nobody here can rotate',
    '0 releases that were left out, or a part of them',
  ])
  const lines = err.split('\n').map((line) => JSON.parse(line))
  expect(lines.filter(({ event }) => event === 'conversion_release')).toHaveLength(2)
  expect(lines.at(-1)).toMatchObject({ event: 'conversion_end', part: 'job', is: 'finished', left: 0 })
  expect(requests[0]).toMatchObject({ namespace: TENANT, pod: 'mariadb-shop-0', container: 'mariadb' })
  expect(JSON.stringify([out, err, requests])).not.toMatch(SECRETS_OF)
})

test('fails while a release is left out, with the cause and a hint', async () => {
  const place = await switched()
  await place.changeRelease('mariadb-shop', ({ spec }) => {
    spec.suspend = true
  })
  const { code, out, err } = await run(place)
  expect(code).toBe(1)
  expect(out).toMatch(/^tenant-acme +mariadb-shop +SuspendedElsewhere +/m)
  expect(out).toMatch(/^SuspendedElsewhere: resume it/m)
  expect(err).toContain('mintonce: 1 release left out')
})

test('says in a dry run what it would do, waits for nothing and writes nothing', async () => {
  const place = await switched()
  const before = await place.before.stored()
  const { code, out, requests } = await run(place, { dryRun: true })
  expect(code).toBe(0)
  const rows = out.split('\n').map((line) => line.split(/ {3,}/))
  expect(rows.slice(0, 3)).toEqual([
    ['NAMESPACE', 'RELEASE', 'CHART', 'WOULD'],
    [TENANT, 'postgres-orders', '2.0.0', 'delete the Secret with the passwords'],
    [
      TENANT,
      'mariadb-shop',
      '2.0.0',
      'take 1 passwords out of the values; delete the keys "app" of the Secret with the passwords; rotate root',
    ],
  ])
  expect(out).toMatch(/^2 +releases that would be done now/m)
  expect(await place.before.stored()).toEqual(before)
  expect(requests).toEqual([])
})

test('prints the same as JSON, and the counts beside it', async () => {
  const place = await switched()
  await place.changeRelease('mariadb-shop', ({ spec }) => {
    spec.suspend = true
  })
  const { out, err } = await run(place, { output: 'json' }, true)
  const { releases, skipped, ...more } = JSON.parse(out)
  expect(more).toEqual({ part: 'job', is: 'finished', dryRun: false, total: 2, doneBefore: 0, elsewhere: 0 })
  expect(releases).toMatchObject([
    {
      release: 'postgres-orders',
      chartVersion: '2.0.0',
      keys: ['web', 'report'],
      isSecretDeleted: true,
      skips: [],
    },
    { release: 'mariadb-shop', skips: [{ cause: 'SuspendedElsewhere', hint: expect.any(String) }] },
  ])
  expect(skipped).toMatchObject([{ namespace: TENANT, release: 'mariadb-shop', cause: 'SuspendedElsewhere' }])
  expect(err).toContain('releases that are done now')
  expect(out + err).not.toMatch(SECRETS_OF)
})

test('says of one namespace that there is more to do elsewhere, and what is recorded of it', async () => {
  const place = await switched()
  const { code, out, err } = await run(place, { namespace: 'tenant-umbrella' })
  expect(code).toBe(0)
  expect(out).toMatch(/^2 +recorded releases of other namespaces that are not done, and were not looked at/m)
  expect(err).toContain(`nothing of namespace tenant-umbrella is recorded in namespace ${PLATFORM}`)
  expect((await run(place)).out).not.toContain('other namespaces')
})

test('runs as a command: without the record there is nothing to do, and without rights it fails', async () => {
  const place = await jobPlace()
  const url = await served(place.before.sandbox.admin)
  const nothing = await runJob(url)
  expect(nothing).toMatchObject({ code: 0 })
  expect(nothing.stdout).toMatch(/^0 +recorded releases that were looked at/)
  expect(nothing.stderr).toContain(`nothing is recorded in namespace ${PLATFORM}`)
  await place.order('orders', { web: 'hunter2' })
  await place.before.convert()
  const waiting = await runJob(url, '--dry-run', '-o', 'json')
  expect(waiting).toMatchObject({ code: 1 })
  expect(JSON.parse(waiting.stdout)).toMatchObject({ skipped: [{ cause: 'DefinitionMissing' }] })
  const stranger = await served(place.before.sandbox.fetchAs({ username: 'stranger', groups: [] }))
  const refused = await runJob(stranger)
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toContain('could not read the record: kube_forbidden (get ConfigMap)')
})

async function runJob(server: string, ...args: readonly string[]) {
  const path = join(await temporaryFolder(), 'kubeconfig')
  const contexts = [{ name: 'it', context: { cluster: 'it' } }]
  const kubeconfig = { clusters: [{ name: 'it', cluster: { server } }], contexts, 'current-context': 'it' }
  await writeFile(path, JSON.stringify(kubeconfig))
  return runCommand(['convert', 'job', '--kubeconfig', path, '--platform-namespace', PLATFORM, ...args])
}

async function served(fetch: Fetch): Promise<string> {
  const server = createServer(getRequestListener(fetch, { overrideGlobalObjects: false }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
