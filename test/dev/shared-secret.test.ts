import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { sharedSecret } from '../../dev/shared-secret.ts'

let folder: string
const vars = () => join(folder, '.dev.vars')
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mintonce-vars.'))
  onTestFinished(() => rm(folder, { recursive: true }))
})

test('is made once, in a file that only its owner may read', async () => {
  const { secret } = await sharedSecret(folder)
  expect(secret).toMatch(/^[\w-]{43}$/)
  expect(await readFile(vars(), 'utf8')).toBe(`KUBE_TOKEN=${secret}\n`)
  expect((await stat(vars())).mode & 0o077).toBe(0)
  expect((await sharedSecret(folder)).secret).toBe(secret)
})

test('leaves what else is in the file', async () => {
  await writeFile(vars(), 'MINTONCE_LOG_LEVEL=debug')
  const { secret } = await sharedSecret(folder)
  expect(await readFile(vars(), 'utf8')).toBe(`MINTONCE_LOG_LEVEL=debug\nKUBE_TOKEN=${secret}\n`)
})

test('is the one that somebody has written there', async () => {
  await writeFile(vars(), 'KUBE_TOKEN="of-my-own"\n')
  expect((await sharedSecret(folder)).secret).toBe('of-my-own')
})
