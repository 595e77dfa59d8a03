import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ended, ROOT, runCommand, serveCommand } from './command.ts'

const TIMEOUT_MS = 60_000

/** What a package that was installed looks like: the bundle, and the manifests beside it. */
describe('the bundle, built by the script that builds it', { timeout: TIMEOUT_MS }, () => {
  let folder: string
  const file = (path: string) => join(folder, path)

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mintonce-bundle.'))
    await cp(join(ROOT, 'deploy'), file('deploy'), { recursive: true })
    await cp(join(ROOT, 'package.json'), file('package.json'))
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`
    for (const script of [scripts['build:node'], scripts['build:cli']] as readonly string[]) {
      expect(script).toContain('--outdir=dist ')
      const elsewhere = script.replace('--outdir=dist ', `--outdir=${file('dist')} `)
      const built = await ended(spawn('sh', ['-c', elsewhere], { cwd: ROOT, env: { PATH } }))
      expect(built.code, built.stderr).toBe(0)
    }
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

  test('has what counts for Prometheus in a chunk that a start does not load', async () => {
    const read = (name: string) => readFile(file(`dist/${name}`), 'utf8')
    const isCounting = (source: string) => source.includes('mintonce_requests_total')
    // What esbuild writes for a static import of a chunk; a dynamic one has a parenthesis.
    const loaded = new Set(['node.js'])
    for (const name of loaded) {
      const imports = (await read(name)).matchAll(/(?:from|import)"\.\/(?:chunks\/)?([^"]+)"/g)
      for (const [, chunk] of imports) loaded.add(`chunks/${chunk}`)
    }
    expect(loaded.size).toBeGreaterThan(2)
    expect((await Promise.all([...loaded].map(read))).filter(isCounting)).toEqual([])
    const chunks = (await readdir(file('dist/chunks'))).map((chunk) => read(`chunks/${chunk}`))
    expect((await Promise.all(chunks)).filter(isCounting)).toHaveLength(1)
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
