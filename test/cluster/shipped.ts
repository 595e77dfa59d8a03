import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import type { ControlPlane } from '../control-plane/start.ts'

const ROOT = join(import.meta.dirname, '../..')
const FOLDERS = ['deploy', 'knative']
const DEFINITION_CRD = join(ROOT, 'test/control-plane/crd-applicationdefinition.yaml')

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: unknown
}

interface Overlay {
  readonly resources: readonly string[]
  readonly components?: readonly string[]
  readonly images?: readonly object[]
  readonly patches?: readonly object[]
  /** Beside the overlay, by name: a resource may be one of them. */
  readonly files?: Readonly<Record<string, string>>
}

interface Kustomization {
  readonly kind: 'Kustomization' | 'Component'
  readonly resources?: readonly string[]
  readonly patches?: readonly { readonly path?: string }[]
}

/** The paths of all YAML files that are shipped as manifests, from the root of the repository. */
export async function shippedFiles(): Promise<readonly string[]> {
  const found = await Promise.all(
    FOLDERS.map(async (folder) => {
      const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true })
      return entries
        .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name))
        .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    }),
  )
  return found.flat().sort()
}

const isKustomization = (file: string): boolean => file.endsWith('/kustomization.yaml')

/** The folders that `kubectl -k` takes, and those that an overlay takes among its `components`. */
export async function shippedFolders(): Promise<readonly string[]> {
  return (await shippedFiles()).filter(isKustomization).map((file) => dirname(file))
}

/** The files that no kustomization names. */
export async function forgottenFiles(): Promise<readonly string[]> {
  const files = await shippedFiles()
  const named = await Promise.all(
    files.filter(isKustomization).map(async (file) => {
      const { resources = [], patches = [] } = await readKustomization(dirname(file))
      const paths = [...resources, ...patches.flatMap(({ path }) => path ?? [])]
      return paths.map((path) => join(dirname(file), path))
    }),
  )
  const known = new Set(named.flat())
  return files.filter((file) => !isKustomization(file) && !known.has(file))
}

/**
 * What a folder is built to. A component is built in an overlay, as its users do it, with the function on Knative and
 * the platform's definition of ApplicationDefinitions. Throws what kubectl complains about, warnings included.
 */
export async function build(folder: string, plane: Pick<ControlPlane, 'kubectl'>): Promise<string> {
  const { kind } = await readKustomization(folder)
  if (kind === 'Kustomization') return kustomize(join(ROOT, folder), plane)
  return buildOverlay({ resources: ['crd.yaml', 'knative'], components: [folder] }, plane)
}

/** The same of an overlay: paths go from the root of the repository, and `crd.yaml` is the platform's definition. */
export async function buildOverlay(
  { resources, components = [], files = {}, ...more }: Overlay,
  plane: Pick<ControlPlane, 'kubectl'>,
): Promise<string> {
  const overlay = await mkdtemp(join(tmpdir(), 'mintonce-overlay.'))
  try {
    await cp(DEFINITION_CRD, join(overlay, 'crd.yaml'))
    for (const [name, text] of Object.entries(files)) await writeFile(join(overlay, name), text)
    const isHere = (path: string) => path === 'crd.yaml' || Object.hasOwn(files, path)
    const from = (path: string) => (isHere(path) ? path : relative(overlay, join(ROOT, path)))
    const kustomization = { ...more, resources: resources.map(from), components: components.map(from) }
    await writeFile(join(overlay, 'kustomization.yaml'), JSON.stringify(kustomization))
    return await kustomize(overlay, plane)
  } finally {
    await rm(overlay, { recursive: true })
  }
}

export const objectsIn = (text: string): readonly Manifest[] =>
  parseAllDocuments(text).map((document): Manifest => document.toJS())

async function readKustomization(folder: string): Promise<Kustomization> {
  return parse(await readFile(join(ROOT, folder, 'kustomization.yaml'), 'utf8'))
}

async function kustomize(folder: string, { kubectl }: Pick<ControlPlane, 'kubectl'>): Promise<string> {
  const { code, stdout, stderr } = await kubectl(['kustomize', folder])
  if (code !== 0 || stderr !== '') throw new Error(`kubectl kustomize ${folder}: ${stderr.trim()}`)
  return stdout
}
