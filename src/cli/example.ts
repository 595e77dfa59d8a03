import { readdir, readFile } from 'node:fs/promises'
import { parseAllDocuments } from 'yaml'
import type { Deps } from '../core/deps.ts'
import { isObject } from '../core/json.ts'
import { exampleFunction, exampleTenant, exampleUsers } from '../sandbox/example.ts'
import { createSandbox, type Sandbox } from '../sandbox/sandbox.ts'

interface ExampleOptions {
  readonly deps: Pick<Deps, 'now' | 'randomBytes'>
  /** A folder URL, with a slash at its end: the roles that are shipped, in force here too. */
  readonly rolesFolder: URL
  /** What the tokens of the example are good for. */
  readonly audiences: readonly string[]
}

/** The example tenant in a Kubernetes API in memory, and that API as the function is let into it. */
export async function openExample({
  deps,
  rolesFolder,
  audiences,
}: ExampleOptions): Promise<Pick<Sandbox, 'admin'> & { readonly kube: Sandbox['admin'] }> {
  const manifests = [...(await readRoles(rolesFolder)), ...exampleTenant()]
  const sandbox = createSandbox({ ...deps, manifests })
  for (const { token, ...user } of exampleUsers) sandbox.addToken(token, { ...user, audiences })
  return { admin: sandbox.admin, kube: sandbox.fetchAs(exampleFunction) }
}

async function readRoles(folder: URL): Promise<readonly object[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).sort()
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')))
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS())).filter(isObject)
}
