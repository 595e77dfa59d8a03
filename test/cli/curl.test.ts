import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { curlOf } from '../../src/cli/curl.ts'

const run = promisify(execFile)

/** What a POSIX shell hands to `curl`, word by word. */
async function wordsOf(command: string): Promise<readonly string[]> {
  const { stdout } = await run('sh', ['-c', `curl() { printf '%s\\0' "$@"; }\n${command}`])
  return stdout.split('\0').slice(0, -1)
}

test('a read is a plain command', async () => {
  const request = new Request('http://127.0.0.1:8080/apis/a.b/c', { headers: { Authorization: 'Bearer x' } })
  expect(await curlOf(request)).toBe(
    "curl -H 'Authorization: Bearer x' \\\n  http://127.0.0.1:8080/apis/a.b/c",
  )
})

test('a shell reads back exactly what was sent, whatever is in it', async () => {
  const body = JSON.stringify({ text: `it's "$HOME" \`id\` \\ ! * é` })
  const url = 'http://127.0.0.1:8080/x?labelSelector=a%20in%20(b)&limit=1'
  const request = new Request(url, { method: 'POST', headers: { 'X-Test': "it's; $(id)" }, body })
  request.headers.set('Content-Type', 'application/json')
  expect(await wordsOf(await curlOf(request))).toEqual([
    '-H',
    'Content-Type: application/json',
    '-H',
    "X-Test: it's; $(id)",
    '-d',
    body,
    url,
  ])
})

test('curl would make a GET of a POST without a body: the method is named', async () => {
  const words = await wordsOf(await curlOf(new Request('http://127.0.0.1/x', { method: 'POST' })))
  expect(words).toEqual(['-X', 'POST', 'http://127.0.0.1/x'])
})

test('the request can still be sent afterwards', async () => {
  const request = new Request('http://127.0.0.1/x', { method: 'POST', body: 'b' })
  await curlOf(request)
  expect(await request.text()).toBe('b')
})
