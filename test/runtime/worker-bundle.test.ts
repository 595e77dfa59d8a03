import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Metafile } from 'esbuild'
import { expect, onTestFinished, test } from 'vitest'
import { bundleWorker } from '../../dev/bundle-worker.ts'
import { type BundleName, bundle } from '../../dev/bundles.ts'

interface Bundle {
  /** Where each of its modules comes from, node_modules included. */
  readonly inputs: readonly string[]
  /** What it leaves to the runtime, and how it imports that. */
  readonly externals: readonly string[]
  /** What is loaded when the entry is, and not only when it is used. */
  readonly atStart: readonly string[]
  readonly text: string
}

async function bundled(name: BundleName, file: string): Promise<Bundle> {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-worker.'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const { inputs, outputs } = await bundle(name, folder)
  const imports = Object.values(inputs).flatMap((input) => input.imports)
  return {
    inputs: [...Object.keys(inputs), ...Object.values(outputs).flatMap((each) => each.entryPoint ?? [])],
    atStart: reachable(inputs, `src/${file.replace('.js', '.ts')}`),
    externals: imports.filter(({ external }) => external).map(({ kind, path }) => `${kind} ${path}`),
    text: await readFile(join(folder, file), 'utf8'),
  }
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
  const { inputs, externals, text } = await bundled('worker', 'worker.js')
  expect(inputs).toContain('src/worker.ts')
  expect(inputs).toContain('src/auth/token-review.ts')
  expect(inputs.filter((path) => /front-proxy|request-header|node-|client-node/.test(path))).toEqual([])
  expect(externals).toEqual(['dynamic-import node:crypto'])
  expect(text).not.toMatch(/x-remote-/i)
})

test.each([
  ['worker', 'worker', 'worker.js'],
  ['Node entry', 'node', 'node.js'],
] as const)(
  'the %s that ships loads what reads certificates when it publishes one, and not when it starts',
  async (_, name, file) => {
    const { inputs, atStart } = await bundled(name, file)
    const READERS = /^src\/trust-anchor\/(certificates|pem|der|x509|private-key)\./
    expect(new Set(inputs.filter((path) => READERS.test(path))).size).toBe(5)
    expect(atStart).toContain('src/app.ts')
    expect(atStart.filter((path) => READERS.test(path))).toEqual([])
  },
)

test('the command line that ships has nothing of what only development needs', async () => {
  const { inputs } = await bundled('cli', 'cli.js')
  expect(inputs).toContain('src/cli/dev.ts')
  expect(inputs.filter((path) => /^dev\/|miniflare|wrangler|esbuild/.test(path))).toEqual([])
})

test('what dev:worker runs is what ships, but for the minifying', async () => {
  const { text } = await bundled('worker', 'worker.js')
  const ours = await bundleWorker()
  const names = (source: string) => new Set(source.match(/MINTONCE_[A-Z_]+|kube_[a-z_]+/g))
  expect(names(text).size).toBeGreaterThan(20)
  expect(names(ours)).toEqual(names(text))
})
