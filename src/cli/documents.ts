import { readFile } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'
import { parseAllDocuments, type Tags } from 'yaml'

/** YAML 1.1, as `sigs.k8s.io/yaml` reads it: `yes` and `no` are booleans, `010` is eight, and `<<` merges. */
const AS_KUBECTL = {
  version: '1.1',
  merge: true,
  customTags: (tags: Tags) =>
    tags.filter((tag) => typeof tag === 'string' || !tag.tag.endsWith(':timestamp')),
} as const

/** All documents of a YAML or JSON file, or of standard input for `-`. Throws an Error that names the place, and shows nothing of what is there. */
export async function readDocuments(file: string): Promise<readonly unknown[]> {
  const read = file === '-' ? textOf(process.stdin) : readFile(file, 'utf8')
  const text = await read.catch((error: NodeJS.ErrnoException) => {
    throw new Error(`cannot be read (${error.code ?? 'unknown'})`, { cause: error })
  })
  const documents = parseAllDocuments(text, AS_KUBECTL)
  if (!Array.isArray(documents)) return []
  return documents.map((document) => {
    const [error] = document.errors
    if (error !== undefined) {
      const [start] = error.linePos ?? []
      throw new Error(`is no YAML: ${error.code} at line ${start?.line ?? '?'}, column ${start?.col ?? '?'}`)
    }
    return document.toJS()
  })
}
