import { spawn } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { imageFlags } from '../../bench/image-flags.ts'
import { ended, ROOT } from '../cli/command.ts'

/** No image is built here: what its Dockerfile says is done in a folder. */
const read = (name: string) => readFile(join(ROOT, name), 'utf8')

/** What the Dockerfile takes from the checkout. */
async function copied(): Promise<readonly string[]> {
  const lines = [...(await read('Dockerfile')).matchAll(/^COPY (?!--from)(.+) \S+$/gm)]
  return lines.flatMap(([, names = '']) => names.split(' '))
}

test('.dockerignore lets through what the Dockerfile copies, and nothing else', async () => {
  const [first, ...rest] = (await read('.dockerignore')).split('\n').filter((line) => /^[^#]/.test(line))
  expect(first).toBe('*')
  expect(rest.toSorted()).toEqual([...new Set(await copied())].map((name) => `!${name}`).toSorted())
})

test('what it copies is enough for the build', { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-image.'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const name of await copied()) await cp(join(ROOT, name), join(folder, name), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`
  expect(await read('Dockerfile')).toContain('RUN npm run build\n')
  const env = { PATH, HOME: folder, npm_config_update_notifier: 'false' }
  const built = await ended(spawn('npm', ['run', 'build'], { cwd: folder, env }))
  expect(built.code, built.stderr).toBe(0)
  expect(await readdir(join(folder, 'dist'))).toEqual(
    expect.arrayContaining(['chunks', 'cli.js', 'client', 'node.js']),
  )
})

test('its flags give new objects 8 MiB from the start on', async () => {
  const script = `const { getHeapSpaceStatistics } = require('node:v8')
    console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size)`
  const { stdout } = await ended(spawn(process.execPath, [...(await imageFlags()), '-e', script]))
  expect(stdout).toBe(`${8 * 1024 * 1024}\n`)
})

test('a bundle that there is not is told, and none is built', async () => {
  const { code, stderr } = await ended(
    spawn(process.execPath, [join(ROOT, 'dev/build.ts'), 'nodejs'], { cwd: tmpdir() }),
  )
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: 'there is no bundle nodejs: node, cli, worker, client\n',
  })
})
