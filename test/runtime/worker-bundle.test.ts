import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bundleWorker } from '../../dev/bundle-worker.ts'
import { ended, ROOT } from '../cli/command.ts'

interface Bundle {
  /** Where each of its modules comes from, node_modules included. */
  readonly inputs: readonly string[]
  /** What it leaves to the runtime, and how it imports that. */
  readonly externals: readonly string[]
  /** What is loaded when the entry is, and not only when it is used. */
  readonly atStart: readonly string[]
  readonly text: string
}

/** What an npm script of package.json bundles into one of its files. */
async function bundled(name: string, file: string): Promise<Bundle> {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-worker.'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const script: string = scripts[name]
  expect(script).toContain('=dist')
  const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`
  const metafile = join(folder, 'meta.json')
  const command = `${script.replace('=dist', `=${join(folder, 'dist')}`)} --metafile=${metafile}`
  const built = await ended(spawn('sh', ['-c', command], { cwd: ROOT, env: { PATH } }))
  expect(built.code, built.stderr).toBe(0)
  const { inputs, outputs } = JSON.parse(await readFile(metafile, 'utf8')) as Metafile
  const imports = Object.values(inputs).flatMap((input) => input.imports)
  return {
    inputs: [...Object.keys(inputs), ...Object.values(outputs).flatMap((each) => each.entryPoint ?? [])],
    atStart: reachable(inputs, `src/${file.replace('.js', '.ts')}`),
    externals: imports.filter(({ external }) => external).map(({ kind, path }) => `${kind} ${path}`),
    text: await readFile(join(folder, 'dist', file), 'utf8'),
  }
}

interface Metafile {
  readonly inputs: Readonly<
    Record<
      string,
      {
        readonly imports: readonly {
          readonly path: string
          readonly kind: string
          readonly external?: boolean
        }[]
      }
    >
  >
  readonly outputs: Readonly<Record<string, { readonly entryPoint?: string }>>
}

/** Along import statements, not along `import()`. */
function reachable(inputs: Metafile['inputs'], entry: string): readonly string[] {
  const found = new Set([entry])
  for (const path of found) {
    for (const each of inputs[path]?.imports ?? []) {
      if (each.kind === 'import-statement') found.add(each.path)
    }
  }
  return [...found]
}

test('the worker has no code that believes in a front proxy, and of Node only what reads certificates, when it does', async () => {
  const { inputs, externals, text } = await bundled('build:worker', 'worker.js')
  expect(inputs).toContain('src/worker.ts')
  expect(inputs).toContain('src/auth/token-review.ts')
  expect(inputs.filter((path) => /front-proxy|request-header|node-|client-node/.test(path))).toEqual([])
  expect(externals).toEqual(['dynamic-import node:crypto'])
  expect(text).not.toMatch(/x-remote-/i)
})

test.each([
  ['worker', 'build:worker', 'worker.js'],
  ['Node entry', 'build:node', 'node.js'],
])(
  'the %s that ships loads what reads certificates when it publishes one, and not when it starts',
  async (_, name, file) => {
    const { inputs, atStart } = await bundled(name, file)
    const READERS = /trust-anchor\/(certificates|pem|der|x509|private-key)\./
    expect(new Set(inputs.filter((path) => READERS.test(path))).size).toBe(5)
    expect(atStart).toContain('src/app.ts')
    expect(atStart.filter((path) => READERS.test(path))).toEqual([])
  },
)

test('the command line that ships has nothing of what only development needs', async () => {
  const { inputs } = await bundled('build:cli', 'cli.js')
  expect(inputs).toContain('src/cli/dev.ts')
  expect(inputs.filter((path) => /^dev\/|miniflare|wrangler|esbuild/.test(path))).toEqual([])
})

test('what dev:worker runs is what ships, but for the minifying', async () => {
  const { text } = await bundled('build:worker', 'worker.js')
  const ours = await bundleWorker()
  const names = (source: string) => new Set(source.match(/MINTONCE_[A-Z_]+|kube_[a-z_]+/g))
  expect(names(text).size).toBeGreaterThan(20)
  expect(names(ours)).toEqual(names(text))
})
