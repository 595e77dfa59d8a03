import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '../../src/app.ts'
import { runDemo } from '../../src/cli/demo.ts'
import { openExample } from '../../src/cli/example.ts'
import { readConfig } from '../../src/config.ts'
import type { Fetch } from '../../src/core/deps.ts'
import { noMetrics } from '../../src/core/metrics.ts'
import { sendOver } from '../../src/k8s/send.ts'
import { createServices } from '../../src/services.ts'
import { callApp } from '../helpers/call-app.ts'
import { type Ended, ROOT, runCommand } from './command.ts'

const TIMEOUT_MS = 60_000
const STORED_OF_PENCIL =
  'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU='

const JSON_BODY = { headers: { 'Content-Type': 'application/json' } }

interface Fault {
  /** Between the demo and the function. */
  readonly fetch?: (to: Fetch) => Fetch
  /** What the cluster says to a HelmRelease. */
  readonly takes?: boolean
  /** Between the demo and the cluster. */
  readonly stored?: (value: string, password: string) => string | undefined
}

/** The demo in this process, with something wrong. */
async function demoWith({ fetch = (to) => to, takes = true, stored = (value) => value }: Fault) {
  const deps = {
    now: () => Date.now(),
    randomBytes: (length: number) => new Uint8Array(randomBytes(length)),
    log: () => undefined,
    metrics: noMetrics,
  }
  const rolesFolder = pathToFileURL(join(ROOT, 'deploy/base/rbac/'))
  const { admin, kube } = await openExample({ deps, rolesFolder, audiences: ['mintonce'] })
  const getFor = () => () => Promise.reject(new Error('there is no issuer'))
  const app = createApp(
    createServices(await readConfig({}), { deps, kube: sendOver(kube), getFor, instance: 'test' }),
  )
  const printed: string[] = []
  const passed = await runDemo({
    baseUrl: 'http://mintonce.test',
    fetch: fetch((request) => callApp(app, request)),
    storeRelease: async (release) => {
      const url = 'https://kubernetes.test/apis/helm.toolkit.fluxcd.io/v2/namespaces/tenant-acme/helmreleases'
      const body = JSON.stringify(release)
      return takes && (await admin(new Request(url, { method: 'POST', ...JSON_BODY, body }))).ok
    },
    readStored: async (namespace, name) => {
      const url = `https://kubernetes.test/api/v1/namespaces/${namespace}/secrets/${name}`
      const secret = (await (await admin(new Request(url))).json()) as { data?: { password: string } }
      if (secret.data === undefined) return undefined
      const password = /"password":"(\w+)"/.exec(printed.join('\n'))?.[1] ?? ''
      return stored(Buffer.from(secret.data.password, 'base64').toString(), password)
    },
    print: (text) => printed.push(text),
  })
  return { passed, text: printed.join('\n') }
}

/** Changes the answers to one kind of call. */
const answering =
  (matches: (request: Request) => boolean, change: (body: string) => string | Response) =>
  (to: Fetch): Fetch =>
  async (request) => {
    const isMeant = matches(request.clone())
    const answer = await to(request)
    if (!isMeant) return answer
    const changed = change(await answer.text())
    return changed instanceof Response ? changed : new Response(changed, { status: answer.status })
  }

const isSync = ({ url }: Request) => url.endsWith('/sync')
const isRead = ({ method, url }: Request) => method === 'GET' && url.endsWith('.web')
const isMint = ({ url }: Request) => url.endsWith('/mint')
const isOf = (token: string) => (request: Request) =>
  isMint(request) && request.headers.get('Authorization') === `Bearer ${token}`
const minted = (password: string) =>
  Response.json(
    {
      apiVersion: 'core.cozystack.io/v1alpha1',
      kind: 'CredentialRequest',
      metadata: {},
      status: { username: 'web', password },
    },
    { status: 201 },
  )

test('goes through when nothing is wrong, and shows each password in one answer only', async () => {
  const { passed, text } = await demoWith({})
  expect(passed).toBe(true)
  const passwords = [...text.matchAll(/"password":"(\w{32})"/g)].map(([, password = '']) => password)
  expect(new Set(passwords).size).toBe(2)
  for (const password of passwords) expect(text.split(password)).toHaveLength(2)
})

describe('fails, and names the step, when', () => {
  test.each<[string, Fault, string]>([
    [
      'somebody has a password before it begins',
      {
        fetch: answering(
          ({ url }) => url.endsWith('/credentials'),
          (body) => body.replace('[]', '[{}]'),
        ),
      },
      'Jane, the',
    ],
    ['the cluster does not take the HelmRelease', { takes: false }, 'A tenant orders'],
    ['there is no such release', { takes: false }, 'She asks for a sync'],
    [
      'a sync creates nothing',
      { fetch: answering(isSync, (body) => body.replace('"message":"1"', '"message":"0"')) },
      'She asks for a sync',
    ],
    [
      'a sync only says that it did',
      { fetch: (to) => async (request) => (isSync(request) ? pretended() : to(request)) },
      'She reads the credential: it is there',
    ],
    [
      'somebody has the password that was thrown away',
      { fetch: answering(isRead, (body) => body.replaceAll('NotIssued', 'Minted')) },
      'She reads the credential: it is there',
    ],
    [
      'a mint shows no password',
      { fetch: answering(isMint, (body) => body.replace('"password"', '"x"')) },
      'She mints',
    ],
    ['a mint shows a short password', { fetch: answering(isMint, () => minted('short')) }, 'She mints'],
    ['the password can be read again', { fetch: leaking }, 'She reads the credential: who'],
    [
      'the cluster holds the password itself',
      { stored: (_value, password) => password },
      'What the cluster holds (',
    ],
    [
      'the cluster holds the verifier of another',
      { stored: () => STORED_OF_PENCIL },
      'What the cluster holds (',
    ],
    ['the cluster holds nothing', { stored: () => undefined }, 'What the cluster holds ('],
    [
      'the same password is issued twice',
      { fetch: answering(isMint, () => minted('a'.repeat(32))) },
      'A pipeline',
    ],
    [
      'the conflict does not say who was faster',
      { fetch: answering(isMint, (body) => body.replaceAll('issued by', 'issued by nobody')) },
      'Jane mints once more',
    ],
    [
      'a viewer may mint',
      { fetch: answering(isOf('tenant-viewer'), () => minted('b'.repeat(32))) },
      'Victor may',
    ],
    [
      'a revoke shows a password',
      {
        fetch: answering(
          ({ url }) => url.endsWith('/revoke'),
          () => minted('c'.repeat(32)),
        ),
      },
      'Jane revokes',
    ],
    [
      'a revoked password still works',
      {
        fetch: answering(
          ({ url }) => url.endsWith('/revoke'),
          (body) => body,
        ),
        stored: keepFirst(),
      },
      'What the cluster holds now',
    ],
    ['nobody answers', { fetch: () => () => Promise.reject(new Error('connection refused')) }, 'She mints'],
  ])('%s', async (_what, fault, title) => {
    const { passed, text } = await demoWith(fault)
    expect(passed).toBe(false)
    expect(text).toMatch(new RegExp(`Not as it should be:\n(.*\n)*  - ${title.replace('(', '\\(')}`))
  })
})

/** What a sync answers that has created one Secret. */
const pretended = () =>
  Response.json({
    kind: 'Status',
    apiVersion: 'v1',
    details: { causes: [{ reason: 'Created', message: '1' }] },
  })

/** A function that shows a password a second time. */
function leaking(to: Fetch): Fetch {
  let minted: string | undefined
  return async (request) => {
    const answer = await to(request)
    const text = await answer.text()
    minted ??= /"password":"(\w{32})"/.exec(text)?.[1]
    const body = text.replace('"origin":"Minted"', `"origin":"Minted","shown":"${minted}"`)
    return new Response(body, { status: answer.status })
  }
}

/** A cluster that never stores anything after the first write. */
function keepFirst(): (value: string) => string {
  let first: string | undefined
  return (value) => {
    first ??= value
    return first
  }
}

describe('as it is shipped', { timeout: TIMEOUT_MS }, () => {
  let run: Ended
  beforeAll(async () => {
    run = await runCommand(['demo'], { env: { MINTONCE_API_GROUP: 'not-even-a-group' } })
  }, TIMEOUT_MS)

  test('ends by itself, with 0, whatever the environment says', () => {
    expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: '' })
    expect(run.stdout.trim().split('\n').at(-1)).toBe('All steps went as they should.')
  })

  test('shows a sync, a list, a mint, a read, a conflict, a refusal and a revoke, each with its curl and its answer', () => {
    const calls = [...run.stdout.matchAll(/\$ curl [\s\S]*?tenant-acme(\/\S*)\n\n +HTTP\/1\.1 (.*)/g)]
    expect(calls.map(([, path, status]) => `${path} ${status}`)).toEqual([
      '/credentials 200 OK',
      '/helmreleases/postgres-ledger/sync 200 OK',
      '/credentials/postgres-ledger.web 200 OK',
      '/credentials/postgres-ledger.web/mint 201 Created',
      '/credentials/postgres-ledger.web 200 OK',
      '/credentials/postgres-ledger.web/mint 201 Created',
      '/credentials/postgres-ledger.web/mint 409 Conflict',
      '/credentials/postgres-ledger.web/mint 403 Forbidden',
      '/credentials/postgres-ledger.web/revoke 201 Created',
    ])
  })
})

test('a word that is no command ends with 2, and says where help is', { timeout: TIMEOUT_MS }, async () => {
  expect(await runCommand(['dmeo'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'mintonce: there is no command "dmeo"\nmintonce --help shows what there is\n',
  })
})
