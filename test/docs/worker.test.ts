import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Miniflare } from 'miniflare'
import { describe, expect, onTestFinished, test } from 'vitest'
import { BUNDLE, bundleWorker, RUNTIME } from '../../dev/bundle-worker.ts'
import { bindingTo } from '../../dev/kube-binding.ts'
import { answersTo, ROOT, serveWorker } from '../cli/command.ts'
import { startSandboxApiServer } from '../contract/backends/sandbox-api-server.ts'
import { createWorkerProject, startListening } from '../helpers/worker-project.ts'
import { includesCommand, markedForCi, readPage, runByCi, scriptsIn } from './blocks.ts'

const TIMEOUT_MS = 120_000
const page = await readPage('docs/worker.md')
const text = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8')

/** The lines of the only block with this mark, without comments. */
const linesOf = (mark: string): readonly string[] =>
  (page.blocks(mark)[0] ?? '').split('\n').filter((line) => line !== '' && !line.startsWith('#'))

/** Pastes the calls of the page and looks at their answers. */
async function expectMint(origin: string): Promise<void> {
  const script = page.blocks('sandbox').join('\n').replace('http://127.0.0.1:8080', origin)
  const answers = await answersTo(script)
  expect(answers).toMatchObject([
    { status: { username: 'web', password: expect.stringMatching(/^[A-Za-z0-9]{32}$/) } },
    { kind: 'Credential', status: { password: { by: 'jane@example.org' } } },
  ])
}

describe('commands', { timeout: TIMEOUT_MS }, () => {
  test('what is marked for CI is run by CI', async () => {
    const run = await runByCi()
    for (const command of markedForCi(page)) expect(includesCommand(run, command), command).toBe(true)
  })

  test('npm scripts that are named are there', async () => {
    const { scripts } = JSON.parse(await text('package.json'))
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining([...scriptsIn(page)]))
    expect(scripts['dev:worker']).toBe('exec node dev/worker.ts')
    expect(scripts['dev:kube']).toBe('exec node dev/kube.ts')
  })

  test('the worker in Miniflare mints as the page says', async () => {
    const [line = '', ...more] = linesOf('worker')
    expect(more).toEqual([])
    const [, args = ''] = line.split('npm run dev:worker -- ')
    const { origin, stop } = await serveWorker(args.split(' '))
    onTestFinished(async () => void (await stop('SIGTERM')))
    await expectMint(origin)
  })

  test('wrangler dev mints beside the helper, with a secret that the helper has made', async () => {
    const [helper = '', wrangler = '', ...more] = linesOf('beside')
    expect(more).toEqual([])
    const project = await createWorkerProject()
    onTestFinished(project.remove)
    const { output } = await project.start(helper, /npx wrangler dev/)
    expect(output()).toContain(wrangler)
    const { origin } = await startListening(project, wrangler)
    await expectMint(origin)
  })
})

test('the worker between the function and a cluster passes on what it is asked', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [script = ''] = [...page.text.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code)
  const api = await startSandboxApiServer()
  const asked: Request[] = []
  const cluster = bindingTo(async (request) => {
    asked.push(request.clone())
    return api.asFunction(request)
  })
  const workers = new Miniflare({
    cf: false,
    workers: [
      {
        name: 'mintonce',
        modules: true,
        script: await bundleWorker(),
        scriptPath: BUNDLE,
        compatibilityDate: RUNTIME.compatibilityDate,
        compatibilityFlags: [...RUNTIME.compatibilityFlags],
        bindings: { KUBE_TOKEN: 'of-the-function', MINTONCE_LOG_LEVEL: 'error' },
        serviceBindings: { KUBE: 'kube' },
      },
      {
        name: 'kube',
        modules: true,
        script,
        compatibilityDate: RUNTIME.compatibilityDate,
        bindings: { SERVER: 'api.example.org:6443' },
        serviceBindings: { CLUSTER: cluster },
      },
    ],
  })
  onTestFinished(async () => {
    await workers.dispose()
    await api.stop()
  })
  const { origin } = await workers.ready
  const path = '/apis/core.cozystack.io/v1alpha1/namespaces/tenant-acme/credentials'
  const answer = await fetch(`${origin}${path}`, {
    headers: { Authorization: `Bearer ${await api.tokenOf('tenant-acme', 'somebody')}` },
  })
  expect(await answer.json()).toMatchObject({ code: 403, message: expect.stringContaining(':somebody"') })
  const [review] = asked
  expect(review?.url).toBe('https://api.example.org:6443/apis/authentication.k8s.io/v1/tokenreviews')
  expect(review?.headers.get('authorization')).toBe('Bearer of-the-function')
  expect(await review?.json()).toMatchObject({ spec: { token: 'token-of-tenant-acme-somebody' } })
})

describe('the ways to start it', () => {
  test('agree on what they ask of the runtime', async () => {
    const sources = await Promise.all(['wrangler.toml', 'deploy/workerd/function.capnp'].map(text))
    for (const source of sources) {
      const [, date] = /ompatibility_?[dD]ate = "([^"]+)"/.exec(source) ?? []
      const [, flags = ''] = /ompatibility_?[fF]lags = \[([^\]]*)\]/.exec(source) ?? []
      expect(date).toBe(RUNTIME.compatibilityDate)
      expect(flags.split(',').map((flag) => flag.trim().replaceAll('"', ''))).toEqual(
        RUNTIME.compatibilityFlags,
      )
    }
  })

  test('workerd is given the settings that the page lists, which are all but those about files and sockets', async () => {
    const [, section = ''] = page.text.split('A worker has these:')
    const listed = [...(section.split('\n\n')[1] ?? '').matchAll(/`(MINTONCE_\w+)`/g)].map(([, name]) => name)
    const bound = [
      ...(await text('deploy/workerd/function.capnp')).matchAll(
        /\(name = "(\w+)", fromEnvironment = "(\w+)"\)/g,
      ),
    ]
    for (const [, name, variable] of bound) expect(name).toBe(variable)
    expect(bound.map(([, name]) => name)).toEqual(['KUBE_TOKEN', ...listed])

    const readme = await text('README.md')
    const known = [...readme.matchAll(/^\| `(MINTONCE_\w+)` \|/gm)].map(([, name = '']) => name)
    const isElsewhere =
      /_(FILE|URL|PORT|ADDRESS)$|_(DRAIN|REQUEST_HEADER_MAX_AGE)_SECONDS$|_FRONT_PROXY$|_WEBHOOK_HOSTS$/
    expect(known.filter((name) => !isElsewhere.test(name)).toSorted()).toEqual(listed.toSorted())
  })

  test('both configurations of workerd differ in who the function is, and in nothing else', async () => {
    const [token = '', certificate = ''] = await Promise.all(
      ['config', 'client-certificate'].map((name) => text(`deploy/workerd/${name}.capnp`)),
    )
    const plain = (source: string) => source.replace(/^ *#.*$/gm, '').replace(/\s+/g, '')
    const keypair = ',keypair=(privateKey=embed"client.key",certificateChain=embed"client.crt")'
    expect(plain(certificate).replace(keypair, '')).toBe(plain(token))
  })
})

test('files that are linked are there', async () => {
  const links = [...page.text.matchAll(/\]\((\.?[\w./-]+)(?:#[\w-]+)?\)/g)].map(([, path = '']) => path)
  expect(links.length).toBeGreaterThan(1)
  for (const path of links) await expect(text(join('docs', path)), path).resolves.not.toBe('')
})
