import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  ADMIN_TOKEN,
  EXAMPLE_MINT,
  type ExampleApiServer,
  startExampleApiServer,
} from '../helpers/example-api-server.ts'
import { type Family, parseMetrics, type Sample } from '../helpers/prometheus-text.ts'

const ROOT = join(import.meta.dirname, '../..')
const CREDENTIALS = EXAMPLE_MINT.replace(/\/postgres-orders\.web\/mint$/, '')
const ONE = `${CREDENTIALS}/postgres-orders.web`
const SHOP = `${CREDENTIALS}/mariadb-shop.app/mint`

let api: ExampleApiServer
let child: ChildProcess
let folder: string
let output = ''
let origin: string
let metricsOrigin: string

/** The entry that ships, with a port for metrics. */
beforeAll(async () => {
  api = await startExampleApiServer(() => 0)
  folder = await mkdtemp(join(tmpdir(), 'mintonce-metrics.'))
  await writeFile(join(folder, 'token'), 'of-the-function')
  child = spawn(process.execPath, [join(ROOT, 'src/node.ts')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      MINTONCE_LISTEN_ADDRESS: '127.0.0.1',
      MINTONCE_METRICS_PORT: '0',
      MINTONCE_DRAIN_SECONDS: '0',
      MINTONCE_KUBE_URL: api.url,
      MINTONCE_KUBE_TOKEN_FILE: join(folder, 'token'),
    },
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  }
  origin = await originIn('listening')
  metricsOrigin = await originIn('metrics_listening')
})
afterAll(async () => {
  child.kill('SIGKILL')
  await api.stop()
  await rm(folder, { recursive: true })
})

async function originIn(event: string): Promise<string> {
  const line = new RegExp(`"event":"${event}","address":"127.0.0.1","port":(\\d+)`)
  await vi.waitFor(() => expect(output).toMatch(line), { timeout: 15_000, interval: 50 })
  return `http://127.0.0.1:${line.exec(output)?.[1]}`
}

const scrape = async (): Promise<string> => (await fetch(`${metricsOrigin}/metrics`)).text()

const samplesOf = (families: readonly Family[], name: string): readonly Sample[] =>
  families.flatMap(({ samples }) => samples).filter((sample) => sample.name === name)

/** Each sample as `value label label …`. */
const linesOf = (samples: readonly Sample[], ...labels: readonly string[]): readonly string[] =>
  samples.map((sample) => [sample.value, ...labels.map((label) => sample.labels[label])].join(' ')).toSorted()

/** What is asked, as whom, and what is to be counted for it. */
const requests: readonly (readonly [string, string, string | undefined, string])[] = [
  ['POST', EXAMPLE_MINT, ADMIN_TOKEN, 'mint 201 Postgres'],
  ['POST', EXAMPLE_MINT, ADMIN_TOKEN, 'mint 201 Postgres'],
  ['POST', SHOP, ADMIN_TOKEN, 'mint 201 MariaDB'],
  ['POST', EXAMPLE_MINT, 'tenant-viewer', 'mint 403 '],
  ['POST', EXAMPLE_MINT, 'token-that-is-none', 'mint 401 '],
  ['POST', `${CREDENTIALS}/postgres-orders.nobody/mint`, ADMIN_TOKEN, 'mint 404 '],
  ['POST', `${ONE}/revoke`, ADMIN_TOKEN, 'revoke 201 Postgres'],
  ['GET', ONE, ADMIN_TOKEN, 'get 200 Postgres'],
  ['GET', ONE, undefined, 'get 401 '],
  ['GET', `${CREDENTIALS}/postgres-orders.nobody`, ADMIN_TOKEN, 'get 404 '],
  ['GET', CREDENTIALS, ADMIN_TOKEN, 'list 200 '],
  ['HEAD', CREDENTIALS, ADMIN_TOKEN, 'list 200 '],
  ['GET', '/metrics', undefined, 'other 404 '],
  ['GET', '/jane@example.org/', undefined, 'other 400 '],
  ['DELETE', ONE, ADMIN_TOKEN, 'other 405 '],
  ['PROPFIND', ONE, ADMIN_TOKEN, 'other 405 '],
]

/** The calls that a server sees, by what docs/metrics.md calls them. */
const CALLS: readonly (readonly [RegExp, string])[] = [
  [/^POST .*\/tokenreviews$/, 'create TokenReview'],
  [/^POST .*\/subjectaccessreviews$/, 'create SubjectAccessReview'],
  [/^GET .*\/helmreleases\/[^/]+$/, 'get HelmRelease'],
  [/^GET .*\/applicationdefinitions$/, 'list ApplicationDefinitions'],
  [/^GET .*\/secrets$/, 'list Secrets'],
  [/^GET .*\/secrets\/[^/]+$/, 'get Secret'],
  [/^POST .*\/secrets$/, 'create Secret'],
  [/^PUT .*\/secrets\/[^/]+$/, 'update Secret'],
  [/^POST .*\/events$/, 'create Event'],
  [/^GET \/version$/, 'get version'],
]

const tally = (names: readonly string[]): readonly string[] =>
  [...Map.groupBy(names, (name) => name)].map(([name, all]) => `${all.length} ${name}`).toSorted()

describe('a scrape after some requests', () => {
  const passwords: string[] = []
  let text: string
  let families: readonly Family[]

  beforeAll(async () => {
    for (const [method, path, token] of requests) {
      const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` }
      const answer = await fetch(`${origin}${path}`, { method, headers })
      const body = await answer.text()
      if (path.endsWith('/mint') && answer.ok) passwords.push(JSON.parse(body).status.password)
    }
    for (const probe of ['/livez', '/healthz', '/readyz']) {
      expect((await fetch(`${origin}${probe}`)).status).toBe(200)
    }
    // Events are sent after the answers.
    const allEvents = /_count\{call="create Event",outcome="ok"\} 4\n/
    await vi.waitFor(async () => expect(await scrape()).toMatch(allEvents), { timeout: 5000, interval: 50 })
    text = await scrape()
    families = parseMetrics(text)
  })

  test('counts every request once, and no probe', () => {
    const counted = samplesOf(families, 'mintonce_requests_total')
    expect(linesOf(counted, 'verb', 'code', 'kind')).toEqual(tally(requests.map(([, , , labels]) => labels)))
    const timed = samplesOf(families, 'mintonce_request_duration_seconds_count')
    const sum = timed.reduce((total, { value }) => total + value, 0)
    expect(sum).toBe(requests.length)
  })

  test('counts every call that the Kubernetes API has answered', () => {
    const seen = api.answered().map((call) => CALLS.find(([pattern]) => pattern.test(call))?.[1] ?? call)
    const counted = samplesOf(families, 'mintonce_kube_call_duration_seconds_count')
    const byCall = Map.groupBy(counted, ({ labels }) => labels.call)
    const sums = [...byCall].map(([call, all]) => `${all.reduce((sum, { value }) => sum + value, 0)} ${call}`)
    expect(sums.toSorted()).toEqual(tally(seen))
    expect(linesOf(counted, 'call', 'outcome')).toEqual(
      expect.arrayContaining(['4 create Event ok', '2 create Secret ok', '2 update Secret ok']),
    )
    expect(counted).toContainEqual(
      expect.objectContaining({ labels: { call: 'get Secret', outcome: 'kube_absent' } }),
    )
  })

  test('says which version runs, since when, and on what', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    expect(linesOf(samplesOf(families, 'mintonce_build_info'), 'version')).toEqual([`1 ${version}`])
    expect(linesOf(samplesOf(families, 'nodejs_version_info'), 'version')).toEqual([`1 ${process.version}`])
    const [startedAt] = samplesOf(families, 'process_start_time_seconds')
    expect(Math.abs((startedAt?.value ?? 0) - Date.now() / 1000)).toBeLessThan(600)
  })

  test('has what docs/metrics.md lists, and no other', async () => {
    const docs = await readFile(join(ROOT, 'docs/metrics.md'), 'utf8')
    const rows = docs.matchAll(/^\| `(mintonce_\w+)` \| (\w+) \| (.+?) \|/gm)
    const listed = [...rows].map(([, name, type, labels = '']) => ({
      name,
      type,
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label).toSorted(),
    }))
    const exported = families.map(({ name, type, samples }) => ({
      name,
      type,
      labels: [...new Set(samples.flatMap((sample) => Object.keys(sample.labels)))]
        .filter((label) => label !== 'le')
        .toSorted(),
    }))
    const ours = exported.filter(({ name }) => name.startsWith('mintonce_'))
    expect(ours).toEqual(listed)
    const others = exported.filter((family) => !ours.includes(family)).map(({ name }) => name)
    expect(others.filter((name) => !/^(process|nodejs)_/.test(name))).toEqual([])
    for (const [, values] of docs.matchAll(/^\| `verb` \| (.+?) \|$/gm)) {
      for (const { labels } of samplesOf(families, 'mintonce_requests_total')) {
        expect(values).toContain(`\`${labels.verb}\``)
      }
    }
  })

  test('OBS-01: no metric names anybody, or holds anything of anybody', () => {
    expect(passwords).toHaveLength(3)
    const stored = passwords.map((password) => Buffer.from(password).toString('base64'))
    const secrets = [
      ...passwords,
      ...stored,
      ADMIN_TOKEN,
      'tenant-viewer',
      'token-that-is-none',
      'of-the-function',
    ]
    const names = [
      'tenant-acme',
      'acme',
      'postgres-orders',
      'orders',
      'shop',
      'nobody',
      'jane',
      'victor',
      'PROPFIND',
    ]
    expect([...secrets, ...names].filter((word) => text.includes(word))).toEqual([])
    expect(text).not.toMatch(/SCRAM-SHA-256|\*[0-9A-F]{40}/)
    const values = families.flatMap(({ samples }) => samples.flatMap(({ labels }) => Object.values(labels)))
    expect(values.filter((value) => ['web', 'app', 'mintonce'].includes(value))).toEqual([])
  })
})

describe('the listener', () => {
  const ask = async (method: string, path: string) => {
    const answer = await fetch(`${metricsOrigin}${path}`, { method })
    return { code: answer.status, headers: answer.headers, text: await answer.text() }
  }

  test('answers /metrics, with a query too, in text format 0.0.4', async () => {
    for (const path of ['/metrics', '/metrics?debug=1']) {
      const { code, headers, text } = await ask('GET', path)
      expect(code).toBe(200)
      expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
      expect(parseMetrics(text).map(({ name }) => name)).toContain('mintonce_build_info')
    }
    expect(await ask('HEAD', '/metrics')).toMatchObject({ code: 200, text: '' })
  })

  test.each(['/', '/metrics/', '/livez', '/version', EXAMPLE_MINT])('has nothing on %s', async (path) => {
    expect((await ask('GET', path)).code).toBe(404)
    expect((await ask('POST', path)).code).toBe(404)
  })

  test.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'])('refuses %s', async (method) => {
    const { code, headers } = await ask(method, '/metrics')
    expect(code).toBe(405)
    // RFC 9110, section 15.5.6.
    expect(headers.get('allow')).toBe('GET, HEAD')
  })
})

test('ends with the process, whatever is connected', async () => {
  expect((await fetch(`${metricsOrigin}/metrics`)).status).toBe(200)
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await exited, output).toEqual([0, null])
  await expect(fetch(`${metricsOrigin}/metrics`)).rejects.toThrow()
})
