import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { exampleTenant } from '../../../src/sandbox/example.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** The roles that are shipped, as objects: those that come with publishing CAs too. */
export async function shippedRoles(): Promise<readonly object[]> {
  const folder = join(ROOT, 'deploy/base/rbac')
  const files = (await readdir(folder)).filter(
    (name) => name.endsWith('.yaml') && name !== 'kustomization.yaml',
  )
  const paths = [...files.map((name) => join(folder, name)), join(ROOT, 'deploy/trust-anchor/rbac.yaml')]
  const objects = await Promise.all(paths.map(readObjects))
  return objects.flat()
}

async function readObjects(file: string): Promise<readonly object[]> {
  const documents = parseAllDocuments(await readFile(file, 'utf8'))
  return documents.map((document) => document.toJS()).filter((object) => object !== null)
}

/** The definitions of the example: one for each built-in format. */
export const exampleDefinitions = (): readonly object[] =>
  exampleTenant().filter((object) => Reflect.get(object, 'kind') === 'ApplicationDefinition')
