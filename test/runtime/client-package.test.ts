import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { RUNTIME } from '../../dev/bundle-worker.ts'
import { type Ended, ended, ROOT, type Served, serveCommand } from '../cli/command.ts'
import type { Anything } from '../contract/kube.ts'
import { freePorts } from '../control-plane/ports.ts'
import { readPage } from '../docs/blocks.ts'
import { BUILD_FILES } from '../helpers/build-files.ts'

const PAGE = 'docs/callers/typescript.md'
const CREDENTIAL = '/apis/core.cozystack.io/v1alpha1/namespaces/tenant-acme/credentials/postgres-orders.web'
const PASSWORD = /^[A-Za-z0-9]{32}$/
/** Of the example tenant: her token is its name. */
const TOKEN = 'tenant-admin'
const TSC = join(ROOT, 'node_modules/.bin/tsc')
const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`

const page = await readPage(PAGE)
const block = (mark: string): string => page.blocks(mark).join('\n')

let folder: string
let served: Served
const file = (path: string) => join(folder, path)

/** Commands, in a folder of ours, without a registry. */
async function succeed(script: string, cwd: string, env: Readonly<Record<string, string>> = {}) {
  const offline = { npm_config_offline: 'true', npm_config_update_notifier: 'false' }
  const done = await ended(
    spawn('sh', ['-ec', script], { cwd, env: { PATH, HOME: folder, ...offline, ...env } }),
  )
  expect(done.code, done.stdout + done.stderr).toBe(0)
  return done
}

/** A clone after `npm ci` has built and packed the package, and a folder of its own has installed that. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mintonce-package.'))
  await mkdir(file('clone'))
  await mkdir(file('caller'))
  for (const name of [...BUILD_FILES, 'LICENSE', 'README.md']) {
    await cp(join(ROOT, name), file(`clone/${name}`))
  }
  for (const name of ['src', 'dev', 'node_modules']) await symlink(join(ROOT, name), file(`clone/${name}`))
  const packed = block('package')
  expect(packed).toBe('npm ci && npm run build && npm pack\n')
  await succeed(packed.replace('npm ci && npm run build', 'npm run build -- client'), file('clone'))
  await cp(file('clone/mintonce-0.1.0.tgz'), file('caller/mintonce-0.1.0.tgz'))
  await writeFile(file('caller/package.json'), '{"type":"module","private":true}')
  await succeed(block('install'), file('caller'))
  for (const mark of ['node', 'worker', 'browser']) await writeFile(file(`caller/${mark}.ts`), block(mark))
  served = await serveCommand([])
}, 120_000)
afterAll(async () => {
  await served?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** How often the account was minted. */
async function mints(): Promise<number> {
  const headers = { Authorization: `Bearer ${TOKEN}` }
  const answer = await fetch(`${served.origin}${CREDENTIAL}`, { headers })
  if (answer.status === 404) return 0
  const { status }: Anything = await answer.json()
  return status.history.filter(({ operation }: Anything) => operation === 'Mint').length
}

/** One more mint than before has been stored. */
async function expectOneMint(call: () => Promise<unknown>): Promise<void> {
  const before = await mints()
  await call()
  expect(await mints()).toBe(before + 1)
}

describe('what is installed', () => {
  const installed = (path = '') => file(`caller/node_modules/mintonce/${path}`)

  test('needs no other package', async () => {
    const there = await readdir(file('caller/node_modules'))
    expect(there.filter((name) => !name.startsWith('.'))).toEqual(['mintonce'])
  })

  test('is one module that imports nothing, and its types', async () => {
    expect((await readdir(installed('dist/client'))).toSorted()).toEqual([
      'api.d.ts',
      'client.d.ts',
      'client.js',
      'failure.d.ts',
    ])
    expect(await readFile(installed('dist/client/client.js'), 'utf8')).not.toMatch(
      /^import |\bprocess\b|\bBuffer\b/m,
    )
  })

  test.each(['mintonce', 'mintonce/dist/client/client.js', 'mintonce/package.json'])(
    'has no other entry: %s',
    async (name) => {
      const script = `import(${JSON.stringify(name)}).catch(({ code }) => console.log(code))`
      const { stdout } = await succeed(`node --eval '${script}'`, file('caller'))
      expect(stdout).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED\n')
    },
  )
})

test('whoever leaves `--omit=optional` out gets what the page says, and nothing else', async () => {
  const { optionalDependencies = {}, dependencies = {} } = JSON.parse(
    await readFile(join(ROOT, 'package.json'), 'utf8'),
  )
  expect(dependencies).toEqual({})
  expect(block('install')).toContain('--omit=optional')
  for (const name of Object.keys(optionalDependencies)) expect(page.text).toContain(`\`${name}\``)
})

describe('from CommonJS', () => {
  const SCRIPT = `
    const { createClient } = require('mintonce/client')
    const client = createClient({ baseUrl: process.env.MINTONCE_URL, token: '${TOKEN}' })
    client.mint({ namespace: 'tenant-acme', name: 'postgres-orders.web' }).then(({ ok }) => console.log(ok))
  `
  test('it mints, as its types say that it can', async () => {
    await writeFile(file('caller/common.cjs'), SCRIPT)
    await expectOneMint(async () => {
      const { stdout, stderr } = await succeed('node common.cjs', file('caller'), {
        MINTONCE_URL: served.origin,
      })
      expect({ stdout, stderr }).toEqual({ stdout: 'true\n', stderr: '' })
    })
    const typed =
      "import { createClient } from 'mintonce/client'\nexport const client = createClient({ baseUrl: 'https://a.test' })\n"
    await writeFile(file('caller/common.cts'), typed)
    const options =
      '--noEmit --strict --target es2024 --module nodenext --lib es2024,dom --types "" --ignoreConfig'
    await succeed(`${TSC} ${options} common.cts`, file('caller'))
  })
})

describe('its types', () => {
  const WRONG = `
    import { type Answer, type Client, createClient, type Minted, type Retry } from 'mintonce/client'
    const client: Client = createClient({ baseUrl: 'https://mintonce.test' })
    const address = { namespace: 'a', name: 'b.c' }
    const answer: Answer<Minted> = await client.mint(address)
    // @ts-expect-error it may be a failure
    answer.value
    if (answer.ok) answer.value.status.password.length
    else {
      const { retry }: { retry: Retry } = answer.failure
      if (retry.advice === 'after') retry.seconds.toFixed()
      // @ts-expect-error only then
      else retry.seconds
      answer.failure.message.trim()
      if (answer.failure.kind !== 'silence') answer.failure.code.toFixed()
      // @ts-expect-error no HTTP status, and perhaps no code
      else answer.failure.code.trim()
    }
    const dry = await client.mint(address, { dryRun: true })
    // @ts-expect-error a dry run may have none
    if (dry.ok) dry.value.status.password.length
    // @ts-expect-error no such call
    client.apply
    declare const perhaps: { readonly signal: AbortSignal | undefined; readonly token: string | undefined }
    const { signal, token } = perhaps
    createClient({ baseUrl: token, token, group: token, fetch: undefined })
    await client.mint(address, { signal, preconditions: undefined, dryRun: undefined })
    // @ts-expect-error what could not be read guards nothing
    client.mint(address, { preconditions: { uid: token } })
    await client.list('a', { signal, labelSelector: token, limit: undefined, continue: token })
    await client.sync({ namespace: 'a', release: 'b' }, { signal })
    // @ts-expect-error an address has a namespace
    client.get({ name: 'b.c' })
    export {}
  `
  // Nothing of the checkout is near: `skipLibCheck` off, so that the declarations themselves are looked at.
  test.each([
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ])(
    'are those of the page and of its mistakes, with module %s and resolution %s',
    async (module, resolution) => {
      await writeFile(file('caller/wrong.ts'), WRONG)
      const options = `--noEmit --strict --exactOptionalPropertyTypes --target es2024 --module ${module} --moduleResolution ${resolution} --ignoreConfig`
      const node = `--types node --typeRoots ${join(ROOT, 'node_modules/@types')} --lib es2024`
      const web = '--types "" --lib es2024,dom'
      await succeed(`${TSC} ${options} ${node} --skipLibCheck node.ts`, file('caller'))
      await succeed(`${TSC} ${options} ${web} worker.ts browser.ts wrong.ts`, file('caller'))
    },
  )
})

describe('in Node', () => {
  const run = (more: Readonly<Record<string, string>>): Promise<Ended> => {
    const env = { PATH, MINTONCE_URL: served.origin, MINTONCE_TOKEN_FILE: file('token'), ...more }
    return ended(spawn(process.execPath, ['node.ts'], { cwd: file('caller'), env }))
  }

  test('mints as the page does, and prints nothing', async () => {
    await writeFile(file('token'), `${TOKEN}\n`)
    await expectOneMint(async () => expect(await run({})).toEqual({ code: 0, stdout: '', stderr: '' }))
  })

  test.each([
    ['a refusal', { token: 'tenant-viewer' }, 1, "reason: 'Forbidden'"],
    ['nobody there', { isAway: true }, 1, "advice: 'after'"],
    ['no token', { token: 'secret\nof mine' }, 1, "code: 'NO_CREDENTIALS'"],
  ])(
    '%s is said, and what was secret is not',
    async (_what, { token = TOKEN, isAway }: Partial<Tried>, code, says) => {
      await writeFile(file('token'), token)
      const before = await mints()
      const [port] = await freePorts(1)
      const done = await run(isAway ? { MINTONCE_URL: `http://127.0.0.1:${port}` } : {})
      expect(done).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(says) })
      expect(done.stderr).not.toContain(token)
      expect(await mints()).toBe(before)
    },
  )

  interface Tried {
    readonly token: string
    readonly isAway: boolean
  }

  test('an answer that gets lost is an outcome that is unknown', async () => {
    await writeFile(file('token'), TOKEN)
    let asked = 0
    const server = createServer((request) => {
      asked += 1
      request.socket.destroy()
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = Object(server.address())
    const done = await run({ MINTONCE_URL: `http://127.0.0.1:${port}` })
    expect(done).toMatchObject({ code: 2, stderr: expect.stringContaining("advice: 'mint-again'") })
    expect(asked).toBe(1)
  })

  // Fetch standard, "HTTP-network-or-cache fetch": a 421 may be asked for once more, and a redirect followed.
  test.each([421, 308])('an answer of %d is not asked for again', async (code) => {
    await writeFile(file('token'), TOKEN)
    let asked = 0
    const server = createServer((_request, response) => {
      asked += 1
      response.writeHead(code, { Location: '/elsewhere' }).end()
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const done = await run({ MINTONCE_URL: `http://127.0.0.1:${Object(server.address()).port}` })
    expect(done).toMatchObject({ code: 1, stderr: expect.stringContaining("advice: 'never'") })
    expect(asked).toBe(1)
  })
})

const bundle = async (entry: string, platform: 'browser' | 'neutral', format: 'esm' | 'iife') => {
  const options = { bundle: true, write: false, platform, format, globalName: 'page' } as const
  const { outputFiles } = await build({ entryPoints: [entry], absWorkingDir: file('caller'), ...options })
  return outputFiles[0]?.text ?? ''
}

describe('in workerd, without nodejs_compat', () => {
  async function worker(script: string, more: object = {}) {
    const workers = new Miniflare({
      modules: true,
      script,
      cf: false,
      compatibilityDate: RUNTIME.compatibilityDate,
      bindings: { MINTONCE_TOKEN: TOKEN },
      ...more,
    })
    onTestFinished(() => workers.dispose())
    return (await workers.dispatchFetch('http://caller.test/')).text()
  }
  /** The function, where a worker reaches it. */
  const api = async (request: {
    readonly url: string
    readonly method: string
    readonly headers: unknown
    text(): Promise<string>
  }) => {
    const { pathname, search } = new URL(request.url)
    const headers = request.headers as Headers
    const body = request.method === 'GET' ? {} : { body: await request.text() }
    const answer = await fetch(`${served.origin}${pathname}${search}`, {
      method: request.method,
      headers: [...headers],
      ...body,
    })
    return new Response(await answer.text(), answer)
  }

  test('mints through a service binding, as the page does', async () => {
    const script = await bundle('worker.ts', 'neutral', 'esm')
    await expectOneMint(async () =>
      expect(await worker(script, { serviceBindings: { MINTONCE: api } })).toBe('{"username":"web"}'),
    )
  })

  test('mints with the global fetch, and an address is needed', async () => {
    await writeFile(
      file('caller/global.ts'),
      `import { createClient } from 'mintonce/client'
       export default { async fetch(_: Request, { MINTONCE_TOKEN: token }: { MINTONCE_TOKEN: string }) {
         let without = ''
         try { createClient({ token }) } catch (error) { without = String(error) }
         const client = createClient({ baseUrl: 'https://mintonce.test', token })
         const minted = await client.mint({ namespace: 'tenant-acme', name: 'postgres-orders.web' })
         return Response.json([without, minted.ok ? minted.value.status.password : minted.failure])
       } }`,
    )
    const script = await bundle('global.ts', 'neutral', 'esm')
    await expectOneMint(async () => {
      const [without, password] = JSON.parse(await worker(script, { outboundService: api }))
      expect(without).toContain('TypeError: baseUrl is missing')
      expect(password).toMatch(PASSWORD)
    })
  })
})

describe('in a browser', () => {
  /** The globals of a page that the client may use, and none of Node's. */
  async function openPage(href: string) {
    const script = await bundle('browser.ts', 'browser', 'iife')
    const asked: string[] = []
    const globals: Record<string, unknown> = {
      location: { href },
      Request,
      Response,
      Headers,
      URL,
      AbortSignal,
    }
    const context = createContext(globals)
    globals.fetch = function (this: unknown, request: Request) {
      // As browsers do: https://webidl.spec.whatwg.org/#dfn-create-operation-function, step 2.1.2.
      if (this !== undefined && this !== runInContext('globalThis', context))
        throw new TypeError('Illegal invocation')
      asked.push(request.url)
      return fetch(request)
    }
    runInContext(`${script};globalThis.page = page`, context)
    const { show } = globals.page as {
      show: (token: string, into: { textContent: string | null }) => Promise<void>
    }
    return { show, asked }
  }

  test('on the origin of the API it mints without an address', async () => {
    const { show, asked } = await openPage(`${served.origin}/console/index.html`)
    const element = { textContent: null }
    await expectOneMint(() => show(TOKEN, element))
    expect(element.textContent).toMatch(PASSWORD)
    expect(asked).toEqual([`${served.origin}${CREDENTIAL}/mint`])
  })

  test('from another origin nothing could be read: no CORS headers are sent', async () => {
    const { headers } = await fetch(`${served.origin}${CREDENTIAL}`, {
      headers: { Authorization: `Bearer ${TOKEN}`, Origin: 'https://elsewhere.test' },
    })
    expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
  })
})
