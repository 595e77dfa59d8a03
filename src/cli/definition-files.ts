import type { FileDefinition } from '../conversion/definitions.ts'
import { isObject, type Json, own, textAt } from '../core/json.ts'
import type { ApplicationDefinition } from '../k8s/objects.ts'

interface ReadOptions {
  /** All documents of a YAML or JSON file. Throws an Error that says why it cannot be read. */
  readonly readDocuments: (file: string) => Promise<readonly unknown[]>
  readonly complain: (text: string) => void
}

/** An object, and the file that it stands in. */
export interface Found {
  readonly file: string
  readonly object: Json
}

/** Objects of a kind in files, those of lists too. Undefined when a file cannot be read or holds none: it is said. */
export async function readAll(
  { readDocuments, complain }: ReadOptions,
  files: readonly string[],
  kind: string,
): Promise<readonly Found[] | undefined> {
  const found: Found[] = []
  let isWhole = true
  for (const file of files) {
    const read = await readDocuments(file).catch((error: unknown) =>
      error instanceof Error ? error.message : 'cannot be read',
    )
    const objects =
      typeof read === 'string' ? [] : read.flatMap(itemsOf).filter((each) => own(each, 'kind') === kind)
    if (objects.length === 0) {
      isWhole = false
      complain(`${file}: ${typeof read === 'string' ? read : `holds no ${kind}`}`)
    }
    found.push(...objects.map((object) => ({ file, object })))
  }
  return isWhole ? found : undefined
}

/** The ApplicationDefinitions in files. Undefined when a file cannot be read or holds none: it is said. */
export async function readDefinitions(
  options: ReadOptions,
  files: readonly string[],
): Promise<readonly FileDefinition[] | undefined> {
  const found = await readAll(options, files, 'ApplicationDefinition')
  return found?.map(({ file, object }) => ({ file, definition: definitionOf(object) }))
}

function itemsOf(document: unknown): readonly Json[] {
  const items = own(document, 'items')
  if (Array.isArray(items)) return items.filter(isObject)
  return isObject(document) ? [document] : []
}

export const definitionOf = (object: Json): ApplicationDefinition => {
  const { metadata, spec } = object
  return { metadata: metadataOf(metadata), spec: isObject(spec) ? spec : {} }
}

export const metadataOf = (metadata: unknown) => ({
  ...(isObject(metadata) ? metadata : {}),
  name: textAt(metadata, 'name') ?? '',
})
