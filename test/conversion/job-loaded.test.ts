import { join } from 'node:path'
import { build, type Metafile } from 'esbuild'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const OF_CONVERSION =
  /^src\/(conversion\/|cli\/convert-job|k8s\/(node-exec|exec-in-pod|adapter-conversion)\.ts)/

/** What an entry brings along, as the bundler sees it: every import of ours, with how it is imported. */
async function inputsOf(entry: string): Promise<Metafile['inputs']> {
  const { metafile } = await build({
    entryPoints: [join(ROOT, entry)],
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    packages: 'external',
    platform: 'node',
    splitting: true,
    outdir: 'out',
    logLevel: 'silent',
  })
  return metafile.inputs
}

describe('the conversion, and what runs commands in pods', () => {
  test.each(['src/node.ts', 'src/worker.ts'])('is no part of %s', async (entry) => {
    const files = Object.keys(await inputsOf(entry))
    expect(files).toContain('src/app.ts')
    expect(files.filter((file) => OF_CONVERSION.test(file))).toEqual([])
  })

  test('is loaded by the command line when it is asked for, and the client of Kubernetes at the first command', async () => {
    const inputs = await inputsOf('src/cli.ts')
    const now = new Set<string>()
    const follow = (file: string) => {
      if (now.has(file)) return
      now.add(file)
      for (const { path, kind } of inputs[file]?.imports ?? []) {
        if (kind === 'import-statement') follow(path)
      }
    }
    follow('src/cli.ts')
    expect([...now]).toContain('src/cli/command-line.ts')
    expect([...now].filter((file) => OF_CONVERSION.test(file))).toEqual([])
    expect(inputs['src/k8s/node-exec.ts']?.imports).toContainEqual(
      expect.objectContaining({ path: '@kubernetes/client-node', kind: 'dynamic-import' }),
    )
    expect([...now]).not.toContain('@kubernetes/client-node')
  })
})
