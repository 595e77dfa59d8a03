import { isBuiltin } from 'node:module'
import { dirname, relative, resolve } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'

/** The bundles that ship. Each is built by itself, and shares no file with another. */
export type BundleName = 'node' | 'cli' | 'worker' | 'client'

export const BUNDLES: readonly BundleName[] = ['node', 'cli', 'worker', 'client']

const SERVER = 'src/node.ts'

const MINIFIED = { minify: true, legalComments: 'none' } as const

const NODE: BuildOptions = {
  ...MINIFIED,
  splitting: true,
  platform: 'node',
  target: 'node24',
  // As small as for browsers, and no CommonJS.
  alias: { yaml: './node_modules/yaml/browser/index.js' },
  // For CommonJS that requires a module of Node's.
  banner: {
    js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url)",
  },
  chunkNames: 'chunks/[name]-[hash]',
  // Of what `lazyBeside` writes; sources are checked by tsc.
  logOverride: { 'import-is-undefined': 'silent' },
  plugins: [builtins()],
}

/** What differs from one bundle to the next. */
const OPTIONS: Readonly<Record<BundleName, BuildOptions>> = {
  node: { ...NODE, entryPoints: [SERVER], plugins: [builtins(), lazyBeside(SERVER)] },
  cli: {
    ...NODE,
    entryPoints: [
      'src/cli.ts',
      'src/kubectl-mint.ts',
      'src/kubectl-revoke.ts',
      'src/kubectl-complete-mint.ts',
      'src/kubectl-complete-revoke.ts',
    ],
  },
  worker: {
    ...MINIFIED,
    entryPoints: ['src/worker.ts'],
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    mainFields: ['module', 'main'],
    external: ['node:crypto'],
  },
  client: { entryPoints: ['src/client/client.ts'], platform: 'neutral', target: 'es2022' },
}

/** Bundles into a folder, with the files of the working directory. What is wrong with them is an Error. */
export async function bundle(
  name: BundleName,
  outdir: string,
  changes: Omit<BuildOptions, 'outdir' | 'metafile'> = {},
): Promise<Metafile> {
  const { metafile } = await build({ ...optionsOf(name), ...changes, outdir, metafile: true })
  return metafile
}

/** Of a bundle, without where it goes. */
export const optionsOf = (name: BundleName): BuildOptions => ({
  ...OPTIONS[name],
  bundle: true,
  format: 'esm',
  entryNames: '[name]',
  logLevel: 'warning',
})

/**
 * All that an entry loads at once in one file. esbuild makes a file of what each set of entries has in common, and
 * what is imported late is an entry: here each of them imports the real one as well, which has run by then. So they have all of
 * it in common, or nothing.
 */
export function lazyBeside(entry: string): Plugin {
  const namespace = 'lazy'
  return {
    name: namespace,
    setup({ onLoad, onResolve, resolve: resolved, initialOptions: { absWorkingDir = '' } }) {
      onResolve({ filter: /.*/ }, async ({ kind, path, pluginData, ...from }) => {
        if (kind !== 'dynamic-import' || pluginData === namespace || path.startsWith('node:'))
          return undefined
        const found = await resolved(path, { ...from, kind: 'import-statement', pluginData: namespace })
        return found.errors.length > 0 || found.external
          ? found
          : { path: relative(absWorkingDir, found.path), namespace }
      })
      onLoad({ filter: /.*/, namespace }, ({ path }) => {
        const [first, late] = [entry, path].map((each) => JSON.stringify(resolve(absWorkingDir, each)))
        return {
          contents: `import ${first}; import * as late from ${late}; export * from ${late}; export default late.default`,
          resolveDir: dirname(resolve(absWorkingDir, path)),
        }
      })
    },
  }
}

/**
 * Of Node's modules what is named, and no `import` of them: that reads all that a module exports, to list it, and with `node:http` it
 * finds WebSocket, and loads the whole Fetch API (docs/adr/0005-cold-start.md).
 */
export function builtins(): Plugin {
  const namespace = 'builtin'
  return {
    name: namespace,
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^[a-z_:/0-9]+$/ }, ({ kind, path }) =>
        kind === 'import-statement' && isBuiltin(path) ? { path, namespace } : undefined,
      )
      onLoad({ filter: /.*/, namespace }, ({ path }) => ({ contents: exportsOf(path) }))
    },
  }
}

/** Each is read for itself, and only when somebody imports it: what is pure and not used is left out. */
function exportsOf(path: string): string {
  const builtin = process.getBuiltinModule(path) as object | undefined
  if (builtin === undefined) throw new Error(`Node has no module ${path}`)
  const names = Object.getOwnPropertyNames(builtin).filter((name) => /^[A-Za-z_$][\w$]*$/.test(name))
  return [
    `const builtin = process.getBuiltinModule(${JSON.stringify(path)})`,
    'const get = (name) => builtin[name]',
    'export default builtin',
    ...names.map(
      (name) => `const its_${name} = /* @__PURE__ */ get('${name}'); export { its_${name} as ${name} }`,
    ),
  ].join('\n')
}
