import { spawn } from 'node:child_process'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Ended, ended, type Served, serveCommand } from '../cli/command.ts'
import { readPage } from './blocks.ts'

const page = await readPage('docs/callers/curl.md')
const [TOKEN, CALL, MINT, USE, FILE, OTHERS, PAGES, ...more] = page.blocks('sandbox')
const WEB = 'postgres-orders.web'
const PASSWORD = /^[A-Za-z0-9]{32}$/
const SERVED = 'http://127.0.0.1:8080'

/** In place of the function's own answers: what some servers do in between. */
type Instead = { readonly code: number; readonly body: string } | 'nothing' | 'half'

let folder: string
let served: Served
let between: Server
let origin: string
let instead: Instead | undefined
/** Of all calls: the paths, and the arguments of every process while they were under way. */
let asked: string[]
let seenByPs: string[]

/** What `ps` shows to everybody. */
async function commandLines(): Promise<readonly string[]> {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const read = (id: string) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')
  return Promise.all(processes.map(read))
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mintonce-curl.'))
  served = await serveCommand([])
  between = createServer(async (request, response) => {
    asked.push(`${request.method} ${request.url}`)
    seenByPs.push(...(await commandLines()))
    const body = await text(request)
    if (instead === 'nothing') return void request.socket.destroy()
    if (instead === 'half') {
      response.writeHead(201, { 'Content-Length': '400' }).write('{"kind":')
      return void setImmediate(() => request.socket.destroy())
    }
    if (instead !== undefined) return void response.writeHead(instead.code).end(instead.body)
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
  asked = []
  seenByPs = []
})

/** Pasted one after the other into one shell, which is a plain one and ends at the first mistake. */
async function paste(...blocks: readonly (string | undefined)[]): Promise<Ended> {
  const script = blocks.join('\n').replaceAll(SERVED, origin)
  const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, TMPDIR: folder }
  return ended(spawn('sh', ['-eu', '-c', script], { cwd: folder, env }))
}

const left = async (): Promise<readonly string[]> =>
  (await readdir(folder)).filter((name) => name.startsWith('tmp.'))

/** Of curl itself. */
const complaint = (code: number): string => `curl: (22) The requested URL returned error: ${code}\n`

describe('docs/callers/curl.md', () => {
  test('has the blocks that are run here', () => {
    expect([TOKEN, CALL, MINT, USE, FILE, OTHERS, PAGES].every(Boolean)).toBe(true)
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

  const status = (code: number, message: string) => ({
    code,
    body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', code, reason: 'Any', message }),
  })
  test.each<[string, Instead, number]>([
    ['the function says that it cannot', status(503, 'the Kubernetes API did not answer'), 1],
    ['the answer to the write was lost', status(500, 'the password may have been replaced'), 2],
    ['kube-apiserver gave up waiting', status(504, 'request did not complete within 60s'), 2],
    ['a proxy answers', { code: 502, body: '<html>' }, 2],
    ['the aggregation layer answers', { code: 503, body: 'error trying to reach service: EOF' }, 2],
    ['no answer', 'nothing', 2],
    ['half an answer', 'half', 2],
  ])('%s: %j returns %d, and nothing is sent again', async (_what, answer, code) => {
    instead = answer
    const done = await paste(TOKEN, CALL, MINT, `mint ${WEB}`)
    expect(done).toMatchObject({ code, stdout: '' })
    expect(done.stderr.includes('may have been replaced')).toBe(code === 2)
    expect(asked).toHaveLength(1)
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
    const done = await paste(TOKEN, CALL, MINT, `mint ${WEB} > /dev/null`, OTHERS)
    expect(done).toMatchObject({ code: 0, stderr: '' })
    const [row = '', newest = ''] = done.stdout.split('\n')
    expect(row.split('\t')).toEqual([WEB, 'Minted', expect.stringMatching(/Z$/), 'jane@example.org'])
    expect(newest).toMatch(/^\d{4}-.*Z Mint by jane@example\.org$/)
    expect(done.stdout.trim().split('\n').slice(-2)).toEqual(['web', expect.stringMatching(/^\d{4}-.*Z$/)])
    expect(asked.slice(-2)[0]).toMatch(/\/mint$/)
    expect((await readFile(join(folder, 'orders.password'), 'utf8')).trim()).toMatch(PASSWORD)
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
