import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runSweep } from '../../src/cli/sweep.ts'
import { ok } from '../../src/core/result.ts'
import type { ApiServer } from '../contract/backends/api-server.ts'
import { startSandboxApiServer } from '../contract/backends/sandbox-api-server.ts'
import { type Admin, adminOf } from '../contract/kube.ts'
import { releaseOf } from '../contract/tenant.ts'
import { BY, NOTHING_SWEPT, syncCluster } from '../helpers/sync-cluster.ts'
import { runCommand } from './command.ts'

const TIMEOUT_MS = 30_000
const SECRETS = '/api/v1/namespaces/tenant-acme/secrets'

describe('sweep and adopt as commands', { timeout: TIMEOUT_MS }, () => {
  let api: ApiServer
  let admin: Admin
  let env: Readonly<Record<string, string>>
  let kubeconfig: string

  beforeAll(async () => {
    api = await startSandboxApiServer()
    admin = adminOf(api.admin)
    await admin.create('/api/v1/namespaces', { kind: 'Namespace', metadata: { name: 'tenant-acme' } })
    await admin.create(
      '/apis/helm.toolkit.fluxcd.io/v2/namespaces/tenant-acme/helmreleases',
      releaseOf('Postgres', 'orders', { users: { web: {}, report: {} } }),
    )
    const { url, tokenFile } = await api.forProcess()
    env = { MINTONCE_KUBE_URL: url, MINTONCE_KUBE_TOKEN_FILE: tokenFile }
    kubeconfig = `${tokenFile}.kubeconfig`
    await writeFile(
      kubeconfig,
      JSON.stringify({
        clusters: [{ name: 'acme', cluster: { server: url } }],
        users: [{ name: 'function', user: { tokenFile } }],
        contexts: [
          { name: 'acme', context: { cluster: 'acme', user: 'function', namespace: 'tenant-acme' } },
          { name: 'away', context: { cluster: 'acme', user: 'function', namespace: 'nowhere' } },
        ],
        'current-context': 'acme',
      }),
    )
  })
  afterAll(() => api.stop())
  const adopt = (...args: readonly string[]) =>
    runCommand(['adopt', '--kubeconfig', kubeconfig, ...args], { env: {} })

  test('sweep brings a cluster in step, as the pod that it runs in', async () => {
    const { code, stdout } = await runCommand(['sweep'], { env })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      sweep: { ...NOTHING_SWEPT, releases: 1, synced: 1, created: 2 },
    })
    const { metadata } = await admin.get(`${SECRETS}/postgres-orders.web.account`)
    expect(metadata.annotations['credentials.cozystack.io/history']).toContain(
      '"by":"system:serviceaccount:mintonce:mintonce"',
    )
  })

  test('adopt without effect says what it would do, then does it, then has nothing to do', async () => {
    const dry = await adopt('--dry-run')
    expect(dry).toMatchObject({ code: 0 })
    expect(dry.stderr).toContain('2 account Secrets: 2 would be marked (dry run), 0 failed')
    const lines = [
      'tenant-acme   postgres-orders.report.account',
      'tenant-acme   postgres-orders.web.account',
    ]
    const [header, ...rows] = (await adopt()).stdout.trimEnd().split('\n')
    expect(header).toMatch(/^NAMESPACE +SECRET +RESULT$/)
    expect(rows.map((row) => row.replace(/ {2,}/g, '   '))).toEqual(lines.map((line) => `${line}   marked`))
    const again = await adopt('-o', 'json')
    expect(JSON.parse(again.stdout)).toEqual(
      ['report', 'web'].map((user) => ({
        namespace: 'tenant-acme',
        secret: `postgres-orders.${user}.account`,
        release: 'postgres-orders',
        result: 'unchanged',
      })),
    )
  })

  test('sweep says how to name the cluster where it is no pod of one', async () => {
    const { code, stderr } = await runCommand(['sweep'], {
      env: { ...env, MINTONCE_KUBE_TOKEN_FILE: `${kubeconfig}.absent` },
    })
    expect(code).toBe(1)
    expect(stderr).toContain('kube_unreachable')
    expect(stderr).toContain('mintonce sweep --kubeconfig')
  })

  test('sweep takes them back, with a kubeconfig too', async () => {
    const { code, stdout } = await runCommand(['sweep', '--kubeconfig', kubeconfig])
    expect({ code, ...JSON.parse(stdout).sweep }).toMatchObject({ code: 0, adopted: 2 })
  })

  test.each([
    [['--context', 'away'], 'there is no namespace nowhere'],
    [['-n', 'tenant-other'], 'there is no namespace tenant-other'],
    [['--release', 'postgres-ordres'], 'there is no account Secret of a release postgres-ordres'],
  ])('adopt with a slip is no success: %j', async (args, message) => {
    const { code, stderr } = await adopt(...args)
    expect(code).toBe(1)
    expect(stderr).toContain(`mintonce: ${message}\n`)
  })

  test('a cluster that is away is a failure of both', async () => {
    const away = { ...env, MINTONCE_KUBE_URL: 'http://127.0.0.1:1' }
    const swept = await runCommand(['sweep'], { env: away })
    expect(swept).toMatchObject({ code: 1, stdout: '' })
    expect(swept.stderr).toContain('mintonce: the sweep failed: kube_unreachable')
    const { stderr, code } = await adopt('-A', '--context', 'nobody')
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'mintonce: the kubeconfig has no context nobody\n' })
  })
})

describe('a sweep at a terminal', () => {
  const printed: string[] = []
  const complained: string[] = []
  const sweepOf = async ({ services }: Awaited<ReturnType<typeof syncCluster>>) => {
    for (const said of [printed, complained]) said.length = 0
    return runSweep(
      { ...services, anchors: undefined, self: async () => ok(BY) },
      {
        print: (text) => void printed.push(text),
        complain: (text) => void complained.push(text),
        isTerminal: true,
        isPod: false,
      },
    )
  }

  test('prints a table, and has written its Events when it ends', async () => {
    const cluster = await syncCluster()
    await cluster.order('events', ['etl'], { kind: 'ClickHouse' })
    expect(await sweepOf(cluster)).toBe(true)
    expect(printed.join()).toMatch(
      /^1 {3}releases of kinds with minted credentials\n1 {3}of them needed something\n/,
    )
    const { items } = await cluster.admin.get('/apis/events.k8s.io/v1/namespaces/tenant-acme/events')
    expect(items).toMatchObject([{ reason: 'ValuesNotWired' }])
  })

  test('is no success when one of the releases failed', async () => {
    const cluster = await syncCluster()
    await cluster.order('orders', ['web'])
    cluster.way.add({ when: ({ method }) => method === 'POST', fault: { answer: 500, body: '' } })
    expect(await sweepOf(cluster)).toBe(false)
    expect(complained.join()).toContain('1 could not be dealt with')
  })
})
