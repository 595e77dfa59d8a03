import { describe, expect, test } from 'vitest'
import { completionsOf } from '../../src/kubectl/complete.ts'
import { flagsOf } from '../../src/kubectl/flags.ts'
import { statusOf } from './aggregation.ts'

const credential = (name: string) => ({
  metadata: { name, namespace: 'tenant-acme', uid: 'u', resourceVersion: '1' },
  spec: { application: { apiGroup: 'apps.cozystack.io', kind: 'Postgres', name: 'orders' }, user: 'web' },
  status: { password: { origin: 'Minted' }, history: [] },
})

const page = (names: readonly string[], next?: string) =>
  Response.json({
    apiVersion: 'credentials.cozystack.io/v1alpha1',
    kind: 'CredentialList',
    metadata: { resourceVersion: '1', ...(next === undefined ? {} : { continue: next }) },
    items: names.map(credential),
  })

const TWO = () => page(['postgres-orders.report', 'postgres-orders.web'])

/** What `kubectl_complete-mint` would print for these words; the last one is not finished. */
async function completed(
  words: readonly string[],
  respond: (request: Request) => Response | Promise<Response> = TWO,
  signal: AbortSignal = new AbortController().signal,
) {
  const requests: URL[] = []
  const opened: unknown[] = []
  const output = await completionsOf('mint', words, {
    env: {},
    signal,
    open: async (options) => {
      opened.push(options)
      return {
        server: 'https://kube.test',
        context: 'acme',
        namespace: 'tenant-acme',
        authenticate: async () => undefined,
        credentials: async () => ({ headers: {}, tls: {} }),
        send: () => Promise.reject(new Error('a plug-in calls by fetch')),
        fetch: async (request) => {
          requests.push(new URL(request.url))
          return respond(request)
        },
      }
    },
  })
  return { output, requests, opened }
}

// ":4" is ShellCompDirectiveNoFileComp, ":0" leaves it to the shell, which offers files
// (github.com/spf13/cobra/completions.go).
const NAMES =
  'postgres-orders.report\tPostgres orders, Minted\npostgres-orders.web\tPostgres orders, Minted\n:4\n'

describe('names', () => {
  test.each([
    ['nothing yet', [''], NAMES],
    ['a beginning', ['postgres-orders.w'], 'postgres-orders.web\tPostgres orders, Minted\n:4\n'],
    ['another beginning', ['x'], ':4\n'],
    ['flags before', ['-n', 'tenant-acme', '--context=acme', ''], NAMES],
    ['an end of the flags', ['--', ''], NAMES],
    ['no words at all', [], NAMES],
    ['a name already', ['postgres-orders.web', ''], ':4\n'],
    ['flags that are none', ['--nonsense', ''], ':4\n'],
  ])('%s', async (_what, words, output) => {
    expect((await completed(words)).output).toBe(output)
  })

  test('are those of the namespace and the cluster that stand there', async () => {
    const { requests, opened } = await completed([
      ...['-n', 'tenant-b', '--context=c', '--kubeconfig', '/k', '--group=a.example', '--as=jane'],
      '',
    ])
    expect(requests.map(({ pathname }) => pathname)).toEqual([
      '/apis/a.example/v1alpha1/namespaces/tenant-b/credentials',
    ])
    expect(opened).toMatchObject([{ path: '/k', context: 'c', impersonate: { user: 'jane' } }])
    expect(opened[0]).not.toHaveProperty('terminal')
  })

  test('are asked for page by page', async () => {
    const { output, requests } = await completed([''], (request) =>
      new URL(request.url).searchParams.get('continue') === 'second'
        ? page(['b.b'])
        : page(['a.a'], 'second'),
    )
    expect(output).toBe('a.a\tPostgres orders, Minted\nb.b\tPostgres orders, Minted\n:4\n')
    expect(requests.map(({ search }) => search)).toEqual(['?limit=500', '?continue=second&limit=500'])
  })

  test.each([
    ['a refusal', () => statusOf(403, 'Forbidden', 'no')],
    ['a page of a proxy', () => new Response('<html>')],
    ['no connection', () => Promise.reject(new Error('ECONNREFUSED'))],
    ['a list of something else', () => Response.json({ kind: 'PodList', apiVersion: 'v1', items: [] })],
  ])('%s is no candidates, and nothing else', async (_what, respond) => {
    expect((await completed([''], respond)).output).toBe(':4\n')
  })

  test('what is no name never reaches a shell', async () => {
    const { output } = await completed([''], () => page(['a.a', 'b.$(id)', 'c.c\n:0', 'd.d\tx']))
    expect(output).toBe('a.a\tPostgres orders, Minted\n:4\n')
  })

  test('a namespace that cannot be one is no error either', async () => {
    expect((await completed(['-n', '../x', ''])).output).toBe(':4\n')
  })

  test('what came in time is offered when the rest does not come', async () => {
    const patience = new AbortController()
    const { output } = await completed(
      [''],
      (request) => {
        if (!request.url.includes('continue')) return page(['a.a'], 'second')
        patience.abort()
        return new Promise<Response>(() => undefined)
      },
      patience.signal,
    )
    expect(output).toBe('a.a\tPostgres orders, Minted\n:4\n')
  })
})

describe('flags', () => {
  test('all of them, each with what it does', async () => {
    const { output, requests } = await completed(['--'])
    const lines = output.trimEnd().split('\n')
    expect(lines.slice(0, -1)).toEqual(flagsOf('mint').map(({ name, help }) => `--${name}\t${help}`))
    expect(lines.at(-1)).toBe(':4')
    expect(requests).toEqual([])
  })

  test.each([
    [['--name'], /^--namespace\t.*\n:4\n$/],
    [['-o', ''], /^json\nenv\npassword\nuri\n:4\n$/],
    [['--output', 'p'], /^password\n:4\n$/],
    // The scripts of cobra put the flag back before the value.
    [['--output=e'], /^env\n:4\n$/],
    [['-o=u'], /^uri\n:4\n$/],
    [['--dry-run', ''], /^none\nserver\n:4\n$/],
    [['--dry-run='], /^none\nserver\n:4\n$/],
    [['--kubeconfig', ''], /^:0\n$/],
    [['--kubeconfig=/etc/'], /^:0\n$/],
    [['-n', ''], /^:4\n$/],
    [['postgres-orders.web', '--output', 'j'], /^json\n:4\n$/],
  ])('%j', async (words, output) => {
    const answer = await completed(words)
    expect(answer.output).toMatch(output)
    expect(answer.requests).toEqual([])
  })
})
