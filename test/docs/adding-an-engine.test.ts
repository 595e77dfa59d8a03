import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { sourceKinds } from '../../src/definitions/sources/index.ts'
import { formats } from '../../src/formats/index.ts'
import { ROOT, runCommand } from '../cli/command.ts'
import { exampleDefinitions } from '../contract/backends/manifests.ts'
import { readPage } from './blocks.ts'

const page = await readPage('docs/adding-an-engine.md')
const checks = page.blocks('check').map((command, at) => ({
  command: command.trim(),
  definition: page.blocks('definition')[at] ?? '',
  release: page.blocks('release')[at] ?? '',
  checked: page.blocks('checked')[at] ?? '',
}))

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mintonce-page-'))
})
afterAll(() => rm(folder, { recursive: true }))

describe('an application that the page walks through', () => {
  test.each(checks)('$command', async ({ command, definition, release, checked }) => {
    const [, definitionFile = '', releaseFile = ''] =
      /^mintonce definition check (\w+\.yaml) --release (\w+\.yaml)$/.exec(command) ?? []
    await writeFile(join(folder, definitionFile), definition)
    await writeFile(join(folder, releaseFile), release)
    const files = [join(folder, definitionFile), '--release', join(folder, releaseFile)]
    const { code, stdout, stderr } = await runCommand(['definition', 'check', ...files])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.replaceAll(`${folder}/`, '')).toBe(checked)
  })

  test('has each of its blocks', () => {
    expect(checks.length).toBe(2)
    for (const mark of ['definition', 'release', 'checked']) expect(page.blocks(mark)).toHaveLength(2)
  })
})

test('the table names every format, and every source', () => {
  for (const name of formats.keys()) expect(page.text, name).toContain(`| \`${name}\` |`)
  for (const kind of sourceKinds.keys()) expect(page.text, kind).toContain(`| \`{kind: ${kind}, `)
})

test('the block of PostgreSQL is the one that PostgreSQL is tested with', async () => {
  const [definition = ''] = page.blocks('definition')
  const [tested] = exampleDefinitions().map((each) => Reflect.get(each, 'spec'))
  const { parse } = await import('yaml')
  const { format, ...rest } = parse(definition).spec.credentials
  expect({ format: { kind: 'BuiltIn', ...format }, ...rest }, stringify(tested)).toEqual(tested.credentials)
})

test('the format that is shown is one file that the table would take', async () => {
  const [source = ''] = page.blocks('format')
  // Beside what it imports, as in `src`.
  await mkdir(join(folder, 'formats'))
  await symlink(join(ROOT, 'src/core'), join(folder, 'core'))
  await symlink(join(ROOT, 'src/formats/hex.ts'), join(folder, 'formats/hex.ts'))
  const written = join(folder, 'formats/double-sha1.ts')
  await writeFile(written, source)
  const { doubleSha1 } = await import(written)
  // As MariaDB's `SELECT PASSWORD('password')`, without the `*`.
  const value = await doubleSha1.derive({ username: 'app', password: 'password' })
  expect(value).toBe('2470c0c06dee42fd1618bb99005adca2ec9d1e19')
  expect(value).toMatch(doubleSha1.canonical)
  expect(formats.has('double-sha1')).toBe(false)
})

test('the setting, the ports and the fields that it names are those that there are', async () => {
  const policy = await readFile(join(ROOT, 'deploy/apiserver/network-policy.yaml'), 'utf8')
  expect(policy).toMatch(/port: 443\n[\s\S]*port: 6443/)
  expect(await readFile(join(ROOT, 'src/config-webhooks.ts'), 'utf8')).toContain("'MINTONCE_WEBHOOK_HOSTS'")
})
