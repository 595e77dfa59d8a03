import { spawn } from 'node:child_process'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Ended, ended, ROOT, type Served, serveCommand } from '../cli/command.ts'
import { fencesIn, readPage } from './blocks.ts'

const page = await readPage('docs/callers/curl.md')
const [TOKEN, CALL, MINT, USE, FILE, OTHERS, GUARDED, REVOKE, PAGES, ...more] = page.blocks('sandbox')
const WEB = 'postgres-orders.web'
const PASSWORD = /^[A-Za-z0-9]{32}$/
const SERVED = 'http://127.0.0.1:8080'

/** In place of the function's own answers: what some servers do in between. */
type Instead =
  | { readonly code: number; readonly body: string; readonly location?: string }
  | 'nothing'
  | 'half'

let folder: string
let served: Served
let between: Server
let origin: string
let instead: Instead | undefined
/** The method of the calls that get that; of all, when it is empty. */
let only: string
/** Of all calls: the paths, and the arguments of every process while they were under way. */
let asked: string[]
let seenByPs: string[]

/** What `ps` shows to everybody. */
async function commandLines(): Promise<readonly string[]> {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const read = (id: string) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')
  return Promise.all(processes.map(read))
}

function answerInstead(now: Instead, request: IncomingMessage, response: ServerResponse): void {
  if (now === 'nothing') request.socket.destroy()
  else if (now === 'half') {
    response.writeHead(201, { 'Content-Length': '400' }).write('{"kind":')
    setImmediate(() => request.socket.destroy())
  } else {
    const { code, body, location } = now
    response.writeHead(code, location === undefined ? {} : { location }).end(body)
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mintonce-curl.'))
  served = await serveCommand([])
  between = createServer(async (request, response) => {
    asked.push(`${request.method} ${request.url}`)
    seenByPs.push(...(await commandLines()))
    const body = await text(request)
    const now = only === '' || only === request.method ? instead : undefined
    if (now !== undefined) return answerInstead(now, request, response)
    const { authorization = '', 'content-type': type = '' } = request.headers
    const answer = await fetch(`${served.origin}${request.url}`, {
      method: request.method ?? '',
      headers: { authorization, 'content-type': type },
      ...(body === '' ? {} : { body }),
    })
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(await answer.text())
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => between.once('listening', resolve))
  origin = `http://127.0.0.1:${Object(between.address()).port}`
  // Logs in as libpq would, as far as its arguments, environment and files go.
  const psql = `#!/bin/sh
    tr '\\0' ' ' < /proc/self/cmdline > '${folder}/seen'
    printf '%s|%s|%s' "$*" "\${PGPASSWORD-}" "$([ -z "\${PGPASSFILE-}" ] || cat "$PGPASSFILE")" > '${folder}/psql.out'`
  await writeFile(join(folder, 'psql'), psql)
  await chmod(join(folder, 'psql'), 0o755)
})
afterAll(async () => {
  between?.close()
  await served?.stop()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(() => {
  instead = undefined
  only = ''
  asked = []
  seenByPs = []
})

/** Pasted one after the other into one shell, which is a plain one and ends at the first mistake. */
const paste = (...blocks: readonly (string | undefined)[]): Promise<Ended> => pasteInto(['sh', '-eu'], blocks)

async function pasteInto(
  [shell, ...options]: readonly [string, ...string[]],
  blocks: readonly (string | undefined)[],
): Promise<Ended> {
  const script = blocks.join('\n').replaceAll(SERVED, origin)
  const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, TMPDIR: folder }
  return ended(spawn(shell, [...options, '-c', script], { cwd: folder, env }))
}

const left = async (): Promise<readonly string[]> =>
  (await readdir(folder)).filter((name) => /^tmp\.|^orders\.\w+\./.test(name))

/** Of curl itself. */
const complaint = (code: number): string => `curl: (22) The requested URL returned error: ${code}\n`

describe('docs/callers/curl.md', () => {
  test('has the blocks that are run here', () => {
    expect([TOKEN, CALL, MINT, USE, FILE, OTHERS, GUARDED, REVOKE, PAGES].every(Boolean)).toBe(true)
    expect(more).toEqual([])
    expect(page.text.match(/127\.0\.0\.1:8080/g)).toHaveLength(1)
  })

  test('needs a curl that knows --fail-with-body, and jq', async () => {
    const done = await paste('curl --fail-with-body --version', 'jq --version')
    expect(done, 'install curl and jq').toMatchObject({ code: 0 })
  })

  test('a mint prints the password and nothing else; the token stays out of ps, and its file is gone', async () => {
    const done = await paste(TOKEN, CALL, MINT, `mint ${WEB}`)
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(done.stdout.trim()).toMatch(PASSWORD)
    expect(asked).toHaveLength(1)
    expect(seenByPs.some((line) => line.startsWith('curl\0-q'))).toBe(true)
    expect(seenByPs.filter((line) => line.startsWith('curl\0') && line.includes('tenant-admin'))).toEqual([])
    expect(await left()).toEqual([])
  })

  test('a .curlrc that retries is not read', async () => {
    await writeFile(join(folder, '.curlrc'), 'retry = 3\nverbose\n')
    instead = { code: 503, body: 'error trying to reach service: EOF' }
    const done = await paste(TOKEN, CALL, MINT, `mint ${WEB}`)
    await rm(join(folder, '.curlrc'))
    expect(done.stderr).toBe(`${complaint(503)}the password may have been replaced\n`)
    expect(asked).toHaveLength(1)
  })

  test.each([
    ['nobody may', 'tenant-viewer', WEB, 403, 'Forbidden', 'victor@example.org'],
    ['no such account', 'tenant-admin', 'postgres-orders.other', 404, 'NotFound', '"other"'],
    ['no such token', 'nobody', WEB, 401, 'Unauthorized', 'Unauthorized'],
  ])('%s: the Status is said, and 1 returned', async (_what, token, name, code, reason, says) => {
    const done = await paste(TOKEN?.replace('tenant-admin', token), CALL, MINT, `mint ${name}`)
    expect(done).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(says) })
    const [line = '', ...rest] = done.stderr.replace(complaint(code), '').split('\n')
    expect(line.startsWith(`${code} ${reason}: `), done.stderr).toBe(true)
    expect(rest).toEqual([''])
  })

  const status = (code: number, message: string, more: object = {}): Instead => ({
    code,
    body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', code, reason: 'Any', message, ...more }),
  })
  const stored = (answer: unknown): Instead => ({ code: 201, body: JSON.stringify(answer) })
  const to = (code: number): Instead => ({ code, body: '', location: 'https://elsewhere.test/' })
  test.each<[string, Instead, number]>([
    ['the function says that it cannot', status(503, 'the Kubernetes API did not answer'), 1],
    ['the answer to the write was lost', status(500, 'the password may have been replaced'), 2],
    ['kube-apiserver gave up waiting', status(504, 'request did not complete within 60s'), 2],
    ['a proxy answers', { code: 502, body: '<html>' }, 2],
    ['a proxy refuses', { code: 403, body: '<html>' }, 2],
    ['the aggregation layer answers', { code: 503, body: 'error trying to reach service: EOF' }, 2],
    ['a Status that says no code', status(500, 'no', { code: undefined }), 2],
    ['a Status of another code than the answer', status(502, 'not found', { code: 404 }), 2],
    ['a Status whose code is a text', status(502, 'not found', { code: '502 or 404' }), 2],
    ['a gateway that wants https: 301', to(301), 1],
    ['a gateway that wants https: 302', to(302), 1],
    ['a gateway that wants https: 307', to(307), 1],
    ['a gateway that wants https: 308', to(308), 1],
    ['a redirect to nowhere', { code: 300, body: '' }, 2],
    ['stored, and no word of it', { code: 201, body: '' }, 2],
    ['stored, and a page', { code: 201, body: '<html>' }, 2],
    ['stored, and no password', stored({}), 2],
    ['stored, and no text', stored({ status: { password: { secret: 1 } } }), 2],
    ['stored, and an empty one', stored({ status: { password: '' } }), 2],
    ['a Status of success', stored({ kind: 'Status', status: 'Success', code: 201 }), 2],
    ['no answer', 'nothing', 2],
    ['half an answer', 'half', 2],
  ])('%s: %j returns %d, and nothing is sent again', async (_what, answer, code) => {
    instead = answer
    const done = await paste(TOKEN, CALL, MINT, `mint ${WEB}`)
    expect(done).toMatchObject({ code, stdout: '' })
    expect(done.stderr.includes('may have been replaced'), done.stderr).toBe(code === 2)
    expect(asked).toHaveLength(1)
    // As the runners of CI have it.
    const inCi = await pasteInto(['bash', '--norc', '-euo', 'pipefail'], [TOKEN, CALL, MINT, `mint ${WEB}`])
    expect(inCi).toEqual(done)
  })

  test('nobody there is no mint', async () => {
    const done = await paste(TOKEN, CALL?.replace(SERVED, 'http://127.0.0.1:1'), MINT, `mint ${WEB}`)
    expect(done).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing was changed') })
  })

  test('a program gets the password in its environment, or in a file that is its own', async () => {
    const usable = async () => (await readFile(join(folder, 'psql.out'), 'utf8')).split('|')
    expect(await paste(TOKEN, CALL, MINT, USE)).toMatchObject({ code: 0, stdout: '', stderr: '' })
    const [args = '', inEnvironment = ''] = await usable()
    expect(args).toBe('-h orders-rw -U web orders -c SELECT 1')
    expect(inEnvironment).toMatch(PASSWORD)

    expect(await paste(TOKEN, CALL, MINT, FILE)).toMatchObject({ code: 0, stdout: '', stderr: '' })
    const [, none, file = ''] = await usable()
    const [host, port, database, user, password = ''] = file.split(':')
    // https://www.postgresql.org/docs/current/libpq-pgpass.html
    expect([host, port, database, user]).toEqual(['orders-rw', '5432', 'orders', 'web'])
    expect(password).toMatch(PASSWORD)
    expect([none, password === inEnvironment]).toEqual(['', false])
    const { mode } = await stat(join(folder, 'orders.pgpass'))
    expect(mode & 0o777).toBe(0o600)
    expect(await readFile(join(folder, 'seen'), 'utf8')).not.toContain(password)
  })

  test('the other calls say what their comments say', async () => {
    const done = await paste(TOKEN, CALL, MINT, `mint ${WEB} > /dev/null`, OTHERS, REVOKE)
    expect(done).toMatchObject({ code: 0, stderr: '' })
    const [row = '', newest = ''] = done.stdout.split('\n')
    expect(row.split('\t')).toEqual([WEB, 'Minted', expect.stringMatching(/Z$/), 'jane@example.org'])
    expect(newest).toMatch(/^\d{4}-.*Z Mint by jane@example\.org$/)
    expect(done.stdout.trim().split('\n').slice(-2)).toEqual(['web', expect.stringMatching(/^\d{4}-.*Z$/)])
    expect(asked.slice(-2).map((call) => call.replace(/.*\//, ''))).toEqual(['mint?dryRun=All', 'revoke'])
  })

  test.each([
    ['a redirect', to(308)],
    ['nothing', 'nothing'],
    ['no object', stored('no')],
    ['an empty object', stored({})],
  ] as const)('%s is no answer to a dry run, nor to a revoke', async (_what, answer) => {
    instead = answer
    const dryRun = OTHERS?.trim().split('\n').at(-1)
    for (const asks of [dryRun, REVOKE]) {
      const done = await paste(TOKEN, CALL, asks)
      expect({ failed: done.code !== 0, stdout: done.stdout }).toEqual({ failed: true, stdout: '' })
    }
  })

  test('a mint with preconditions is one, and its file is its own', async () => {
    expect(await paste(TOKEN, CALL, MINT, `mint ${WEB} > /dev/null`, GUARDED)).toMatchObject({
      code: 0,
      stderr: '',
    })
    const password = await readFile(join(folder, 'orders.password'), 'utf8')
    expect(password.trim()).toMatch(PASSWORD)
    expect((await stat(join(folder, 'orders.password'))).mode & 0o777).toBe(0o600)
    expect(seenByPs.some((line) => line.includes('"preconditions":{"uid":"'))).toBe(true)
    expect(seenByPs.filter((line) => line.includes(password.trim()))).toEqual([])
    expect(await left()).toEqual([])
  })

  const GET = [expect.stringMatching(/^GET /)]
  test.each([
    ['nobody may', status(403, 'forbidden', { metadata: {} })],
    ['there is none', status(404, 'not found', { metadata: {} })],
    ['it cannot be read', status(503, 'later', { metadata: {} })],
    ['a page', { code: 200, body: '<html>' }],
    ['an object without them', { code: 200, body: '{"metadata":{"uid":"u"}}' }],
    ['a redirect', to(302)],
    ['no answer', 'nothing'],
  ] as const)('what cannot be read is not minted, and keeps its file: %s', async (_what, answer) => {
    await writeFile(join(folder, 'orders.password'), 'the one from before')
    instead = answer
    const done = await paste('set +e', TOKEN, CALL, MINT, GUARDED)
    expect({ failed: done.code !== 0, stdout: done.stdout }).toEqual({ failed: true, stdout: '' })
    expect(asked).toEqual(GET)
    expect(await readFile(join(folder, 'orders.password'), 'utf8')).toBe('the one from before')
    expect(await left()).toEqual([])
  })

  test.each([
    ['USE', () => USE, undefined],
    ['FILE', () => FILE, 'orders.pgpass'],
    ['GUARDED', () => GUARDED, 'orders.password'],
  ] as const)(
    '%s: a mint that fails runs nothing, keeps the file, and is a failure',
    async (_what, block, kept) => {
      if (kept !== undefined) await writeFile(join(folder, kept), 'the one from before')
      await rm(join(folder, 'psql.out'), { force: true })
      only = 'POST'
      for (const answer of [
        status(403, 'no'),
        status(409, 'changed'),
        stored({}),
        to(308),
        'nothing',
      ] as const) {
        instead = answer
        // In a shell that goes on after a mistake, as one that somebody types into.
        const done = await paste('set +e', TOKEN, CALL, MINT, block())
        expect({ failed: done.code !== 0, stdout: done.stdout }).toEqual({ failed: true, stdout: '' })
      }
      expect(await readdir(folder)).not.toContain('psql.out')
      if (kept !== undefined) expect(await readFile(join(folder, kept), 'utf8')).toBe('the one from before')
      expect(await left()).toEqual([])
    },
  )

  test('no page leaves the file of a token behind', async () => {
    const pages = (await readdir(join(ROOT, 'docs/callers'))).filter((name) => name.endsWith('.md'))
    for (const name of pages) {
      const { text: whole } = await readPage(`docs/callers/${name}`)
      const makes = fencesIn(whole).filter(({ block }) => block.includes('AUTH='))
      for (const { block } of makes) expect(block, name).toMatch(/mktemp\)\n *trap 'rm -f "\$+AUTH"' EXIT/)
    }
  })

  test('a list in pages has every name once', async () => {
    await paste(TOKEN, CALL, MINT, 'mint postgres-orders.report > /dev/null')
    asked = []
    const done = await paste(TOKEN, CALL, PAGES)
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(done.stdout.trim().split('\n')).toEqual(['postgres-orders.report', WEB])
    expect(asked).toHaveLength(2)
  })
})
