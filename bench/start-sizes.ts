import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** A static import as esbuild writes it when it minifies; a dynamic one has a parenthesis. */
const STATIC_IMPORT = /(?:from|import)"\.\/([^"]+\.js)"/g

/** What a start loads, the worker, and each file by itself: raw and compressed. */
export async function showSizes(dist: string): Promise<void> {
  const names = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith('.js'))
  const loaded = await loadedBy(dist, 'node.js')
  await show(dist, `what a start loads, ${loaded.length} files`, loaded)
  await show(dist, 'the worker', ['worker.js'])
  for (const name of names.sort()) await show(dist, `dist/${name}`, [name])
}

/** A file and all that it imports before it runs. */
async function loadedBy(dist: string, entry: string): Promise<readonly string[]> {
  const loaded = new Set([entry])
  for (const name of loaded) {
    const source = await readFile(join(dist, name), 'utf8')
    for (const [, path = ''] of source.matchAll(STATIC_IMPORT)) loaded.add(join(name, '..', path))
  }
  return [...loaded]
}

async function show(dist: string, title: string, names: readonly string[]): Promise<void> {
  const files = await Promise.all(names.map((name) => readFile(join(dist, name))))
  const sum = (sizes: readonly number[]) => sizes.reduce((total, size) => total + size, 0)
  const raw = sum(files.map((file) => file.length))
  const gzipped = sum(files.map((file) => gzipSync(file).length))
  console.log(`${title.padEnd(44)} ${kib(raw)}   gzip ${kib(gzipped)}`)
}

function kib(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`
}
