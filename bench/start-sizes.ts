import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** A static import as esbuild writes it when it minifies; a dynamic one has a parenthesis. */
const STATIC_IMPORT = /(?:from|import)"(\.{1,2}\/[^"]+\.js)"/g
const ANY_IMPORT = /(?:from|import\(?)"(\.{1,2}\/[^"]+\.js)"/g

/** Bytes, of so many files, each compressed by itself. */
export interface Size {
  readonly files: number
  readonly raw: number
  readonly gzipped: number
}

/** Of a file and all that it imports before it runs; with `lazy`, of what it may import later as well. */
export const sizeLoadedBy = async (dist: string, entry: string, lazy = false): Promise<Size> =>
  sizeOf(dist, await filesLoadedBy(dist, entry, lazy))

/** The same files by their names in `dist`, the entry first. */
export async function filesLoadedBy(dist: string, entry: string, lazy = false): Promise<readonly string[]> {
  const loaded = new Set([entry])
  for (const name of loaded) {
    const source = await readFile(join(dist, name), 'utf8')
    for (const [, path = ''] of source.matchAll(lazy ? ANY_IMPORT : STATIC_IMPORT))
      loaded.add(join(name, '..', path))
  }
  return [...loaded]
}

/** What a start loads, the worker, and each file by itself: raw and compressed. */
export async function showSizes(dist: string): Promise<void> {
  const names = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith('.js'))
  const loaded = await sizeLoadedBy(dist, 'node.js')
  show(`what a start loads, ${loaded.files} files`, loaded)
  show('the worker', await sizeOf(dist, ['worker.js']))
  for (const name of names.sort()) show(`dist/${name}`, await sizeOf(dist, [name]))
}

async function sizeOf(dist: string, names: readonly string[]): Promise<Size> {
  const files = await Promise.all(names.map((name) => readFile(join(dist, name))))
  const sum = (sizes: readonly number[]) => sizes.reduce((total, size) => total + size, 0)
  return {
    files: names.length,
    raw: sum(files.map((file) => file.length)),
    gzipped: sum(files.map((file) => gzipSync(file).length)),
  }
}

function show(title: string, { raw, gzipped }: Size): void {
  console.log(`${title.padEnd(44)} ${kib(raw)}   gzip ${kib(gzipped)}`)
}

function kib(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`
}
