import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '../../src/config.ts'
import { answersTo, ROOT, runCommand, serveCommand } from '../cli/command.ts'
import { includesCommand, markedForCi, readPage, runByCi, scriptsIn } from './blocks.ts'

const TIMEOUT_MS = 30_000
const text = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8')

const page = await readPage('README.md')
const { text: readme, blocks } = page

/** The rows of the table with this heading, a list of cells each. */
function table(...heading: readonly string[]): readonly (readonly string[])[] {
  const [, rows] = readme.split(`| ${heading.join(' | ')} |\n`)
  if (rows === undefined) throw new Error(`README.md has no table with the columns ${heading.join(', ')}`)
  const [, ...lines] = rows.split('\n\n', 1)[0]?.split('\n') ?? []
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

/** What is set as code in a cell. */
const codesIn = (cell = ''): readonly string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)

describe('commands', { timeout: TIMEOUT_MS }, () => {
  test('what is marked for CI is run by CI', async () => {
    const run = await runByCi()
    const wanted = markedForCi(page)
    expect(wanted).toContain('npm test')
    for (const command of wanted) expect(includesCommand(run, command), command).toBe(true)
  })

  test('npm scripts that are named are there', async () => {
    const { scripts } = JSON.parse(await text('package.json'))
    const named = scriptsIn(page)
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining([...named]))
    expect(named).toContain('dev')
  })

  test('the calls do what the comments above them say', async () => {
    const { origin, stop } = await serveCommand([])
    onTestFinished(async () => void (await stop()))
    const script = blocks('sandbox').join('\n').replace('http://127.0.0.1:8080', origin)
    const answers = await answersTo(script)
    expect(answers).toMatchObject([
      { status: { username: 'web', password: expect.stringMatching(/^[A-Za-z0-9]{32}$/) } },
      { kind: 'CredentialList', items: [{ metadata: { name: 'postgres-orders.web' } }] },
      { kind: 'CredentialRequest', status: { username: 'web' } },
      { kind: 'Status', code: 409 },
      { kind: 'CredentialRequest', status: { username: 'web' } },
    ])
    for (const answer of answers.slice(1))
      expect(JSON.stringify(answer)).not.toContain(answers[0].status.password)
  })

  test('what the demo is said to print, it prints', async () => {
    const { stdout } = await runCommand(['demo'])
    const printed = withoutChance(stdout).split('\n')
    const lines = withoutChance(blocks('demo').join('')).split('\n')
    const shown = lines.filter((line) => line.trim() !== '' && line.trim() !== '...')
    expect(shown.length).toBeGreaterThan(15)
    expect(shown.filter((line) => !printed.includes(line))).toEqual([])
  })
})

/** What differs from one run to the next. */
const withoutChance = (output: string): string =>
  output
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replace(/\d{4}-\d\d-\d\dT[\d:]+Z/g, 'TIME')
    .replace(/"password":"\w{32}"/g, '"password":"PASSWORD"')
    .replace(/SCRAM-SHA-256\$4096:\S+/g, 'SCRAM')

const TLS = { MINTONCE_TLS_CERT_FILE: '/tls.crt', MINTONCE_TLS_KEY_FILE: '/tls.key' }

/** What a setting needs beside it. */
const BESIDE: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map<
  string,
  Readonly<Record<string, string>>
>([
  ['MINTONCE_KEY_SET_URLS', { MINTONCE_AUTHENTICATION_CONFIG_FILE: '/authentication.yaml' }],
  ['MINTONCE_TLS_CERT_FILE', { MINTONCE_TLS_KEY_FILE: '/tls.key' }],
  ['MINTONCE_TLS_KEY_FILE', { MINTONCE_TLS_CERT_FILE: '/tls.crt' }],
  ['MINTONCE_EVENTS_AUDIENCE', { MINTONCE_EVENTS_SENDERS: 'system:serviceaccount:a:b' }],
  ['MINTONCE_EVENTS_SENDERS', { MINTONCE_EVENTS_AUDIENCE: 'mintonce-events' }],
  ['MINTONCE_FRONT_PROXY', TLS],
  ['MINTONCE_ADMISSION_PORT', TLS],
  ['MINTONCE_ADMISSION_CLIENT_CA_FILE', { ...TLS, MINTONCE_ADMISSION_PORT: '9443' }],
  ['MINTONCE_TRUST_ANCHOR_LABELS', { MINTONCE_TRUST_ANCHORS: 'on' }],
  ['MINTONCE_TRUST_ANCHOR_NAMES', { MINTONCE_TRUST_ANCHORS: 'on' }],
])

describe('the table of settings', () => {
  const rows = table('variable', 'meaning', 'default', 'example').map(([name, meaning, value, example]) => ({
    name: codesIn(name)[0] ?? '',
    meaning,
    fallback: codesIn(value)[0],
    example: codesIn(example)[0] ?? '',
  }))
  const [authentication = ''] = blocks('authentication')
  const host = { readText: async () => authentication, parseYaml: async (yaml: string) => parse(yaml) }

  test('has every variable that the function reads, and no other', async () => {
    const parts = ['config', 'config-admission', 'config-anchors', 'config-senders', 'config-webhooks']
    const sources = parts.map((part) => `src/${part}.ts`)
    const source = (await Promise.all(sources.map(text))).join('\n')
    // The environment is read through quoted names, and through `env.NAME`.
    const read = [...source.matchAll(/(?:'|env\.)(PORT|MINTONCE(?:_[A-Z]+)+)\b/g)].map(([, name]) => name)
    expect(rows.map(({ name }) => name).toSorted()).toEqual([...new Set(read)].toSorted())
  })

  test('says the defaults that are in force', async () => {
    const defaults = rows.flatMap(({ name, fallback }) => (fallback === undefined ? [] : [[name, fallback]]))
    expect(defaults.length).toBeGreaterThan(8)
    const unset = await readConfig({})
    // One at a time: a wrong one must not hide behind another.
    for (const [name = '', fallback] of defaults) {
      expect([name, await readConfig({ [name]: fallback })]).toEqual([name, unset])
    }
  })

  test('has for each variable an example that is accepted and changes something', async () => {
    for (const { name, example } of rows) {
      const beside = BESIDE.get(name) ?? {}
      // Half of a pair is refused.
      const without = await readConfig({ ...beside, [name]: '' }, host).catch(() => undefined)
      const given = await readConfig({ ...beside, [name]: example }, host)
      // An inline configuration without issuers is the one example that changes nothing.
      if (name !== 'MINTONCE_AUTHENTICATION_CONFIG') expect(given, name).not.toEqual(without)
    }
  })

  test('says the limits that are in force', async () => {
    const limited = rows.flatMap(({ name, meaning = '' }) => {
      const [, min, max] = /(\d+) to (\d+)/.exec(meaning) ?? []
      return min === undefined || max === undefined ? [] : [{ name, min: Number(min), max: Number(max) }]
    })
    expect(limited).toHaveLength(7)
    for (const { name, min, max } of limited) {
      // The two that must agree with each other are given room.
      const room = name === 'MINTONCE_KUBE_TIMEOUT_SECONDS' ? { MINTONCE_DEADLINE_SECONDS: '50' } : {}
      const message = `${name}: must be a whole number from ${min} to ${max}`
      await expect(readConfig({ ...room, [name]: String(max + 1) })).rejects.toThrow(message)
    }
  })

  test('the example of an authentication configuration is accepted as it stands', async () => {
    const { issuers } = await readConfig({ MINTONCE_AUTHENTICATION_CONFIG_FILE: 'x' }, host)
    expect(issuers).toMatchObject([{ url: 'https://id.example.org', audiences: ['mintonce'] }])
  })
})

test('the table of errors has every code that the function answers, and no other', async () => {
  const sources = await Promise.all(
    ['handlers/status.ts', 'handlers/status-kube.ts', 'handlers/status-answer.ts', 'node-server.ts'].map(
      (name) => text(`src/${name}`),
    ),
  )
  const answered = sources.flatMap((source) =>
    [...source.matchAll(/code: (\d{3})\b|\? (4\d\d) :|: (4\d\d)\b/g)].map(([, ...codes]) =>
      codes.find(Boolean),
    ),
  )
  const listed = table('code', 'meaning', 'what to do').flatMap(([codes]) => codesIn(codes))
  expect(listed.toSorted()).toEqual([...new Set(answered)].toSorted())
})

test('the table of formats has every format that there is', async () => {
  const { formats } = await import('../../src/formats/index.ts')
  const rows = table('engine', 'format', '`data.password` of the account Secret', 'shown once')
  expect(rows.flatMap(([, format]) => codesIn(format)).toSorted()).toEqual([...formats.keys()].toSorted())
  for (const [, format, , once] of rows) {
    const isPlaintext = formats.get(codesIn(format)[0] ?? '')?.storesPlaintext
    expect(once?.includes('holds no password'), format).toBe(!isPlaintext)
  }
})

test('files and folders that are linked or listed are there', async () => {
  const links = [...readme.matchAll(/\]\(([\w./-]+)\)/g)].map(([, path = '']) => path)
  expect(links).toContain('SECURITY.md')
  for (const path of links) await expect(text(path), path).resolves.not.toBe('')
})
