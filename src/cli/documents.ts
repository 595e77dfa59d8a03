import { readFile } from 'node:fs/promises'
import { parseAllDocuments } from 'yaml'

/** All documents of a YAML or JSON file. Throws an Error that names the place, and shows nothing of what is there. */
export async function readDocuments(file: string): Promise<readonly unknown[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`cannot be read (${error.code ?? 'unknown'})`, { cause: error })
  })
  const documents = parseAllDocuments(text)
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
