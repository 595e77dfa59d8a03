import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Metafile } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi } from '../../bench/start-api.ts'
import { startToMint } from '../../bench/start-scenarios.ts'
import { filesLoadedBy } from '../../bench/start-sizes.ts'
import { bundle } from '../../dev/bundles.ts'
import { ended, ROOT, runCommand, serveCommand } from './command.ts'

const TIMEOUT_MS = 60_000

/** What a package that was installed looks like: the bundle, and the manifests beside it. */
describe('the bundles that ship', { timeout: TIMEOUT_MS }, () => {
  let folder: string
  let server: Metafile
  const file = (path: string) => join(folder, path)

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mintonce-bundle.'))
    await cp(join(ROOT, 'deploy'), file('deploy'), { recursive: true })
    await cp(join(ROOT, 'package.json'), file('package.json'))
    server = await bundle('node', file('dist'))
    await bundle('cli', file('dist'))
  }, TIMEOUT_MS)
  afterAll(() => rm(folder, { recursive: true }))

  test('runs the demo: it finds the roles beside itself', async () => {
    expect(await runCommand(['demo'], { entry: file('dist/cli.js') })).toMatchObject({ code: 0, stderr: '' })
  })

  test('knows its version', async () => {
    const { version } = JSON.parse(await readFile(file('package.json'), 'utf8'))
    const { stdout } = await runCommand(['--version'], { entry: file('dist/cli.js') })
    expect(stdout).toBe(`mintonce ${version}\n`)
  })

  describe('a start of the server', () => {
    /** Sources by the names of the files that they are in. */
    const sourcesIn = (names: readonly string[]): readonly string[] =>
      Object.entries(server.outputs)
        .filter(([output]) => names.some((name) => resolve(output) === file(`dist/${name}`)))
        .flatMap(([, { inputs }]) => Object.keys(inputs))

    test('loads two files: with what is loaded late it shares all of them', async () => {
      expect(await filesLoadedBy(file('dist'), 'node.js')).toEqual([
        'node.js',
        expect.stringMatching(/^chunks\/chunk-\w+\.js$/),
      ])
    })

    test.each([
      'node_modules/prom-client/',
      'node_modules/yaml/',
      'node_modules/@bufbuild/cel/',
      'node_modules/bcryptjs/',
      'src/formats/md5-crypt.ts',
      'src/formats/sha-crypt.ts',
      'src/formats/saslprep.ts',
      'src/trust-anchor/certificates.ts',
      'src/node-admission.ts',
    ])('does not load %s', async (source) => {
      const isIn = (name: string) => name.startsWith(source)
      expect(sourcesIn(await filesLoadedBy(file('dist'), 'node.js')).filter(isIn)).toEqual([])
      expect(sourcesIn(await filesLoadedBy(file('dist'), 'node.js', true)).filter(isIn)).not.toEqual([])
    })

    test('and a mint load of Node what they need: no Fetch API, HTTP/2 or terminal', async () => {
      const [hook, list] = [file('hook.cjs'), file('loaded.json')]
      const write = `require('node:fs').writeFileSync(${JSON.stringify(list)}, JSON.stringify(process.moduleLoadList))`
      await writeFile(hook, `process.on('exit', () => ${write})`)
      const api = await startApi()
      await startToMint(api, { args: ['--require', hook, file('dist/node.js')], secure: true }).finally(
        api.stop,
      )
      const loaded: readonly string[] = JSON.parse(await readFile(list, 'utf8'))
      const unneeded =
        /^NativeModule (internal\/deps\/undici|http2|internal\/fs\/promises|internal\/readline)/
      expect(loaded.filter((name) => unneeded.test(name))).toEqual([])
      expect(loaded).toContain('NativeModule _http_server')
    })

    test('finds what a late part exports by default', async () => {
      const late = await filesLoadedBy(file('dist'), 'node.js', true)
      const yaml = file(`dist/${late.find((name) => name.includes('browser'))}`)
      const script = `import('${yaml}').then((all) => console.log(all.default.parse === all.parse))`
      const { stdout } = await ended(spawn(process.execPath, ['-e', script]))
      expect(stdout).toBe('true\n')
    })
  })

  describe('as plug-ins of kubectl, found by their names in bin/', () => {
    const started = (program: string, ...args: readonly string[]) =>
      ended(spawn(file(`bin/${program}`), args))

    beforeAll(async () => {
      await cp(join(ROOT, 'bin'), file('bin'), { recursive: true })
      // Where npm puts it in a clone.
      await mkdir(file('node_modules/.bin'), { recursive: true })
      await symlink(process.execPath, file('node_modules/.bin/node'))
    })

    test.each(['mint', 'revoke'])('has kubectl %s and its completion', async (verb) => {
      const { bin, version } = JSON.parse(await readFile(file('package.json'), 'utf8'))
      const stdout = `kubectl-${verb} ${version}\n`
      expect(await started(`kubectl-${verb}`, '--version')).toEqual({ code: 0, stdout, stderr: '' })
      const completed = await started(`kubectl_complete-${verb}`, '-o', 'j')
      expect(completed).toEqual({ code: 0, stdout: 'json\n:4\n', stderr: '' })
      for (const name of [`kubectl-${verb}`, `kubectl_complete-${verb}`]) {
        expect(await readFile(file(bin[name]), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
      }
    })

    test('says what is missing in a clone that was not built, and completes nothing', async () => {
      await cp(join(ROOT, 'bin'), file('unbuilt/bin'), { recursive: true })
      const { code, stdout, stderr } = await ended(spawn(file('unbuilt/bin/kubectl-mint'), ['a.b']))
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/^error: kubectl-mint is not built: npm ci && npm run build in /)
      const completed = await ended(spawn(file('unbuilt/bin/kubectl_complete-mint'), ['']))
      expect(completed).toEqual({ code: 0, stdout: '', stderr: '' })
    })
  })

  test('reads a kubeconfig', async () => {
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'acme', cluster: { server: 'https://127.0.0.1:1' } }],
      users: [{ name: 'jane', user: { token: 'token' } }],
      contexts: [{ name: 'acme', context: { cluster: 'acme', user: 'jane' } }],
      'current-context': 'acme',
    }
    await writeFile(file('kubeconfig'), JSON.stringify(kubeconfig))
    const args = ['--kubeconfig', file('kubeconfig')]
    const { output, stop } = await serveCommand(args, { entry: file('dist/cli.js') })
    expect(await stop('SIGINT')).toBe(130)
    expect(output()).toContain('context acme (https://127.0.0.1:1)')
  })

  test('reads an authentication configuration in YAML, and names what is wrong in it', async () => {
    const yaml =
      'apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n- issuer: {url: x}\n'
    await writeFile(file('authentication.yaml'), yaml)
    const env = { MINTONCE_AUTHENTICATION_CONFIG_FILE: file('authentication.yaml') }
    const { code, stderr } = await runCommand([], { entry: file('dist/node.js'), env })
    expect(code).toBe(1)
    expect(stderr).toContain('MINTONCE_AUTHENTICATION_CONFIG_FILE: jwt[0].issuer.url: ')
  })
})
