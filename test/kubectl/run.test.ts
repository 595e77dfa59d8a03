import { describe, expect, test } from 'vitest'
import { markNeverSent } from '../../src/core/error-code.ts'
import type { Verb } from '../../src/kubectl/flags.ts'
import { run } from '../../src/kubectl/run.ts'
import { statusOf } from './aggregation.ts'

const NAME = 'postgres-orders.web'
const PASSWORD = 'tq6qwMeDXBl45ud6NjmG5ViDic4PMB0x'

const ISSUED = {
  apiVersion: 'credentials.cozystack.io/v1alpha1',
  kind: 'CredentialRequest',
  metadata: { name: NAME, namespace: 'tenant-acme' },
  status: { username: 'web', password: PASSWORD, issuedAt: '2026-10-02T09:14:07Z' },
}

interface Script {
  readonly verb?: Verb
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly namespace?: string
  readonly isTerminal?: boolean
  readonly authenticate?: () => Promise<void>
  readonly print?: (text: string, warned: readonly string[]) => Promise<void>
  readonly unseen?: string
  readonly server?: string
}

/** A command whose calls are answered by `respond`. */
async function ran(respond: () => Response | Promise<Response>, script: Script = {}) {
  const { verb = 'mint', args = [NAME], env = {}, namespace = 'tenant-acme', isTerminal = false } = script
  const requests: Request[] = []
  const opened: unknown[] = []
  const warned: string[] = []
  let stdout = ''
  let stderr = ''
  const code = await run(verb, args, {
    env,
    open: async (options) => {
      opened.push(options)
      return {
        server: script.server ?? 'https://kube.test',
        context: 'acme',
        namespace,
        authenticate: script.authenticate ?? (async () => undefined),
        credentials: async () => ({ headers: {}, tls: {} }),
        send: () => Promise.reject(new Error('a plug-in calls by fetch')),
        fetch: async (request) => {
          requests.push(request)
          return respond()
        },
      }
    },
    print: async (text) => {
      await script.print?.(text, warned)
      stdout += text
    },
    whyUnseen: () => script.unseen,
    isTerminal,
    say: (line) => {
      stderr += `${line}\n`
    },
    whenInterrupted: (line) => {
      warned.push(line)
      return () => void warned.push('')
    },
  })
  return { code, stdout, stderr, requests, opened, warned }
}

const answer =
  (body: unknown = ISSUED, headers: Readonly<Record<string, string>> = {}) =>
  () =>
    Response.json(body, { status: 201, headers })

const lost = (message: string, code?: string) => () =>
  Promise.reject(Object.assign(new Error(message), { code }))

const unsent = (message: string, code?: string) => () =>
  Promise.reject(markNeverSent(Object.assign(new Error(message), { code })))

const status = (code: number, reason: string, message: string) => () => statusOf(code, reason, message)
const text = (code: number, body: string) => () => new Response(body, { status: code })

describe('exit codes', () => {
  // The texts: src/handlers/status.ts; k8s.io/apiserver/pkg/server/filters/{timeout,wrap,priority-and-fairness}.go;
  // k8s.io/kube-aggregator/pkg/apiserver/handler_proxy.go; k8s.io/apimachinery/pkg/util/proxy/transport.go.
  test.each([
    ['stored', answer(), 0],
    ['malformed', status(400, 'BadRequest', 'unknown field'), 1],
    ['a wrong definition', status(500, 'InternalError', 'ApplicationDefinition "x" is wrong: f: p'), 1],
    ['an invalid precondition', status(422, 'Invalid', 'spec.preconditions.uid'), 1],
    ['a redirect to a login page', () => new Response(null, { status: 302 }), 1],
    ['a server that is not trusted', lost('self-signed', 'DEPTH_ZERO_SELF_SIGNED_CERT'), 1],
    ['nobody', status(401, 'Unauthorized', 'Unauthorized'), 3],
    ['no right', status(403, 'Forbidden', 'cannot create'), 3],
    ['no credentials', lost('no credentials for the Kubernetes API', 'NO_CREDENTIALS'), 3],
    ['no such account', status(404, 'NotFound', 'not found'), 4],
    ['no such API', text(404, '404 page not found\n'), 4],
    ['changed', status(409, 'Conflict', 'changed'), 5],
    [
      'the answer to the write was lost',
      status(500, 'InternalError', 'the password of credential x may have been replaced; mint again'),
      6,
    ],
    ['a mistake in the function', status(500, 'InternalError', 'internal error'), 6],
    ['a mistake in kube-apiserver', text(500, 'This request caused apiserver to panic.'), 6],
    [
      'the time of kube-apiserver is over',
      status(504, 'Timeout', 'Timeout: request did not complete within the allotted timeout'),
      6,
    ],
    ['the connection behind kube-apiserver broke', text(503, 'error trying to reach service: EOF\n'), 6],
    ['the connection to kube-apiserver broke', lost('socket hang up', 'ECONNRESET'), 6],
    ['too late', lost('The operation was aborted', 'ABORT_ERR'), 6],
    ['a proxy gave up', text(502, '<html>Bad Gateway'), 6],
    ['a proxy waited too long', text(504, '<html>Gateway Timeout'), 6],
    ['half an answer', text(201, '{"kind":"Credential'), 6],
    ['an answer without a password', answer({ ...ISSUED, status: { ...ISSUED.status, password: '' } }), 6],
    ['an answer without a status', answer({ ...ISSUED, status: null }), 6],
    ['too slow', status(408, 'Timeout', 'the body did not come in time'), 7],
    ['overloaded', status(429, 'TooManyRequests', 'overloaded'), 7],
    ['kube-apiserver overloaded', text(429, 'Too many requests, please try again later.\n'), 7],
    [
      'the function cannot read',
      status(503, 'ServiceUnavailable', 'the Kubernetes API cannot be reached'),
      7,
    ],
    [
      'the function has no answer',
      status(504, 'Timeout', 'the Kubernetes API did not answer in time: could not get Secret'),
      7,
    ],
    ['the time of the function is over', status(504, 'Timeout', 'the time was over: nothing was written'), 7],
    ['no function', text(503, 'service unavailable\n'), 7],
    [
      'no function there',
      text(503, 'error trying to reach service: dial tcp 10.0.0.1:443: connect: connection refused\n'),
      7,
    ],
    ['nobody listens', lost('connect ECONNREFUSED 127.0.0.1:6443', 'ECONNREFUSED'), 7],
    ['no header', unsent('Invalid character in header content', 'ERR_INVALID_CHAR'), 2],
    ['no TLS', unsent('write EPROTO 40ED', 'EPROTO'), 1],
    ['no connection in time', unsent('The operation was aborted', 'ABORT_ERR'), 7],
    ['no connection at all', unsent('connect ETIMEDOUT', 'ETIMEDOUT'), 7],
    ['no such host', lost('getaddrinfo ENOTFOUND kube.test', 'ENOTFOUND'), 7],
  ])('%s', async (_what, respond, code) => {
    const { stdout, stderr, requests, ...ended } = await ran(respond)
    expect({ code: ended.code, calls: requests.length }, stderr).toEqual({ code, calls: 1 })
    if (code === 0) return
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^(error|Error from server \(\w+\)): ./)
    expect(stderr.includes('Mint again: the newest password is the one that counts.')).toBe(code === 6)
    expect(stderr).not.toContain(PASSWORD)
  })

  test.each([
    ['a command line', { args: [] }, 'error: a credential is missing'],
    ['an API group', { env: { MINTONCE_API_GROUP: 'a/b' } }, 'error: MINTONCE_API_GROUP: a/b'],
    ['a namespace of the context', { namespace: 'A' }, 'error: the kubeconfig: A is no name'],
  ])('a wrong %s is 2, and nothing is sent', async (_what, script, said) => {
    const { code, stderr, stdout, requests } = await ran(answer(), script)
    expect({ code, stdout, requests }).toEqual({ code: 2, stdout: '', requests: [] })
    expect(stderr).toContain(said)
    expect(stderr).toContain("See 'kubectl mint --help'.")
  })

  test('a kubeconfig that cannot be opened is 2, in its own words', async () => {
    const code = await run('mint', [NAME], {
      env: {},
      open: () => Promise.reject(new Error('the kubeconfig has no context x')),
      print: async () => undefined,
      whyUnseen: () => undefined,
      isTerminal: false,
      say: (line) => expect(line).toBe('error: the kubeconfig has no context x'),
      whenInterrupted: () => () => undefined,
    })
    expect(code).toBe(2)
  })

  test('a password that nobody would see is not minted: 2, before anything is asked', async () => {
    const unseen = 'standard output is closed'
    const { code, stderr, requests, opened } = await ran(answer(), { unseen })
    expect({ code, requests, opened }).toEqual({ code: 2, requests: [], opened: [] })
    expect(stderr).toBe(
      "error: standard output is closed: the password would be lost. Nothing was sent\nSee 'kubectl mint --help'.\n",
    )
    expect((await ran(answer(), { unseen, args: [NAME, '--dry-run=server'] })).code).toBe(0)
    expect((await ran(answer(), { unseen, verb: 'revoke' })).code).toBe(0)
  })

  test('what an error quotes of a request is not repeated', async () => {
    const { code, stderr } = await ran(lost(`"Bearer ${PASSWORD}" is an invalid header value.`))
    expect({ code, stderr }).toEqual({ code: 6, stderr: expect.stringMatching(/^error: no answer: Error\n/) })
  })

  test('plain HTTP on a TLS port is 1, and says what may be meant', async () => {
    const respond = text(400, 'Client sent an HTTP request to an HTTPS server.\n')
    const { code, stderr } = await ran(respond, { server: 'http://kube.test' })
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('want https://?') })
    expect((await ran(respond)).stderr).not.toContain('https://')
  })

  test('a plug-in that gives no credentials is 3, and nothing is sent', async () => {
    const authenticate = lost(
      'no credentials for the Kubernetes API: the exec plug-in x failed',
      'NO_CREDENTIALS',
    )
    const { code, stderr, requests } = await ran(answer(), { authenticate })
    expect({ code, stderr, requests }).toEqual({
      code: 3,
      stderr: 'error: no credentials for the Kubernetes API: the exec plug-in x failed\n',
      requests: [],
    })
  })

  test('nothing is unknown of a dry run: it stores nothing', async () => {
    const { code, stderr } = await ran(lost('socket hang up', 'ECONNRESET'), {
      args: [NAME, '--dry-run=server'],
    })
    expect(code).toBe(7)
    expect(stderr).not.toContain('Mint again')
  })

  test('a revoke whose answer is lost is to be repeated too', async () => {
    const { code, stderr } = await ran(lost('socket hang up', 'ECONNRESET'), { verb: 'revoke' })
    expect({ code, stderr }).toEqual({
      code: 6,
      stderr: `error: no answer: socket hang up\nThe password of ${NAME} may have been revoked. Revoke again: it does no harm.\n`,
    })
  })

  test('a password that cannot be written is lost, and is not written elsewhere', async () => {
    const print = lost('write ENOSPC', 'ENOSPC') as () => Promise<void>
    const { code, stderr } = await ran(answer(), { args: [NAME, '-o', 'password'], print })
    expect(code).toBe(6)
    expect(stderr).toMatch(/could not be written \(ENOSPC\): the password is lost\. .* Mint again/)
    expect(stderr).not.toContain(PASSWORD)
  })
})

describe('what is sent', () => {
  test('one call to the subresource, with a body, by the name of the plug-in', async () => {
    const args = [NAME, '-n', 'tenant-b', '--resource-version', '7', '--uid', 'u']
    const { requests } = await ran(answer(), { args })
    const [request] = requests
    expect(requests).toHaveLength(1)
    expect(`${request?.method} ${request?.url}`).toBe(
      `POST https://kube.test/apis/credentials.cozystack.io/v1alpha1/namespaces/tenant-b/credentials/${NAME}/mint`,
    )
    expect(request?.headers.get('User-Agent')).toMatch(/^kubectl-mint\/\d+\.\d+\.\d+/)
    expect(request?.headers.has('Authorization')).toBe(false)
    expect(await request?.json()).toEqual({
      apiVersion: 'credentials.cozystack.io/v1alpha1',
      kind: 'CredentialRequest',
      spec: { preconditions: { resourceVersion: '7', uid: 'u' } },
    })
  })

  test.each([
    [['--group=a.example'], {}, 'a.example'],
    [[], { MINTONCE_API_GROUP: 'b.example' }, 'b.example'],
    [['--group=a.example'], { MINTONCE_API_GROUP: 'b.example' }, 'a.example'],
    [[], { MINTONCE_API_GROUP: '' }, 'credentials.cozystack.io'],
  ])('%j and %j: the group is %s', async (flags, env, group) => {
    const { requests } = await ran(answer(), { args: [NAME, ...flags], env })
    expect(requests[0]?.url).toContain(`/apis/${group}/v1alpha1/namespaces/tenant-acme/`)
  })

  test('a dry run says so', async () => {
    const { requests } = await ran(answer(), { args: [NAME, '--dry-run=server'], verb: 'revoke' })
    expect(requests[0]?.url).toMatch(/\/revoke\?dryRun=All$/)
  })

  test('the kubeconfig is opened as asked, and its plug-ins may speak with the person', async () => {
    const args = [NAME, '--kubeconfig=/k', '--context=c', '--as=jane', '--as-group=a']
    expect((await ran(answer(), { args })).opened).toMatchObject([
      {
        path: '/k',
        context: 'c',
        impersonate: { user: 'jane', groups: ['a'] },
        terminal: { stdin: true, stderr: true },
      },
    ])
  })

  test('an interruption is warned of while the answer is out, and no longer', async () => {
    const { warned } = await ran(answer())
    const line = expect.stringMatching(/^interrupted\. .* may have been replaced\. Mint again/)
    expect(warned).toEqual([line, ''])
    // Not before it is printed: until then it can be lost.
    let whilePrinting: readonly string[] = []
    await ran(answer(), {
      print: async (_text, soFar) => {
        whilePrinting = [...soFar]
      },
    })
    expect(whilePrinting).toEqual([line])
    expect((await ran(answer(), { args: [NAME, '--dry-run=server'] })).warned).toEqual([])
  })
})

describe('what is said beside the output', () => {
  test('the warnings of the API', async () => {
    const { stderr } = await ran(answer(ISSUED, { Warning: '299 - "one", 299 - "two"' }), {
      args: [NAME, '-o', 'password'],
    })
    expect(stderr).toBe('Warning: one\nWarning: two\n')
  })

  test('the warnings of a refusal, before the refusal', async () => {
    const { code, stderr } = await ran(() => {
      const refusal = statusOf(409, 'Conflict', 'changed')
      refusal.headers.set('Warning', '299 - "one"')
      return refusal
    })
    expect({ code, stderr }).toEqual({
      code: 5,
      stderr: 'Warning: one\nError from server (Conflict): changed\n',
    })
  })

  test('on a terminal, that the password stays there; a pipe hears nothing', async () => {
    const args = [NAME, '-o', 'password']
    expect((await ran(answer(), { args, isTerminal: true })).stderr).toMatch(/^warning: .*scroll-back.*\n$/)
    expect((await ran(answer(), { args })).stderr).toBe('')
    const other = { args: [NAME, '--dry-run=server'], isTerminal: true }
    expect((await ran(answer(), other)).stderr).toBe('')
    expect((await ran(answer(), { verb: 'revoke', isTerminal: true })).stderr).not.toContain('scroll-back')
  })

  test('what happens now, to who reads the text', async () => {
    expect((await ran(answer())).stderr).toMatch(/^Shown this once\. /)
    expect((await ran(answer(), { args: [NAME, '-o', 'json'] })).stderr).toBe('')
  })

  // k8s.io/apiserver/pkg/endpoints/filters/impersonation, by the old verb and by those of KEP-5284.
  test.each(['impersonate resource "users"', 'impersonate-on:user-info:create resource "credentials/mint"'])(
    'who cannot %s has to be let do that, and not to mint',
    async (what) => {
      const { stderr } = await ran(status(403, 'Forbidden', `User "victor" cannot ${what} in API group ""`))
      expect(stderr).toMatch(/\nRBAC has to let you impersonate them: .*\n$/)
      expect(stderr).not.toContain('"create"')
    },
  )

  test.each([
    [403, 'Forbidden', 'RBAC has to allow "create" on "credentials/mint"'],
    [404, 'NotFound', 'kubectl -n tenant-acme get credentials.credentials.cozystack.io'],
  ])('what to look at after a %i', async (code, reason, hint) => {
    expect((await ran(status(code, reason, 'no'))).stderr).toMatch(
      `Error from server (${reason}): no\n${hint}`,
    )
  })
})
