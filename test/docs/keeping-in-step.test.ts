import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig } from '../../src/config.ts'
import { SENDER_VARIABLES } from '../../src/config-senders.ts'
import { answersTo, ROOT, serveCommand } from '../cli/command.ts'
import { readPage } from './blocks.ts'

const TIMEOUT_MS = 30_000
const text = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8')
const page = await readPage('docs/keeping-in-step.md')

/** The first cell of each row of the table with this heading, as far as it is set as code. */
function firstColumn(...heading: readonly string[]): readonly string[] {
  const [, rows] = page.text.split(`| ${heading.join(' | ')} |\n`)
  if (rows === undefined) throw new Error(`the page has no table with the columns ${heading.join(', ')}`)
  const [, ...lines] = rows.split('\n\n', 1)[0]?.split('\n') ?? []
  return lines.flatMap((line) =>
    [...(line.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  )
}

test('the table of Events has every reason that there is, and no other', async () => {
  const source = await text('src/credentials/events.ts')
  const reasons = [...source.matchAll(/reason: .*?'(\w+)'(?: : '(\w+)')?,/g)].flatMap(([line, ...names]) =>
    line.includes('===')
      ? [...line.matchAll(/[?:] '(\w+)'/g)].map(([, name]) => name)
      : names.filter(Boolean),
  )
  expect(reasons).toContain('CredentialRevoked')
  const listed = firstColumn('reason', 'what it means', 'what to do')
  expect(listed.toSorted()).toEqual([...new Set(reasons)].toSorted())
})

test('the table of settings has those of all senders', () => {
  const listed = firstColumn('variable', 'what it is')
  expect(listed.toSorted()).toEqual([...SENDER_VARIABLES, 'MINTONCE_GRACE_SECONDS'].toSorted())
})

test('a call answers what the page says', { timeout: TIMEOUT_MS }, async () => {
  const { origin, stop } = await serveCommand([])
  onTestFinished(async () => void (await stop()))
  const script = page.blocks('sandbox').join('\n').replace('http://127.0.0.1:8080', origin)
  const [{ status, message }] = await answersTo(script)
  expect(status).toBe('Success')
  expect(page.text).toContain(`The answer is a \`Status\` with what was done: \`${message}\`.`)
})

describe('knative/eventing', async () => {
  const sources = parseAllDocuments(await text('knative/eventing/sources.yaml')).map((each) => each.toJS())
  const patch: readonly { readonly value: { readonly name: string; readonly value: string } }[] = parse(
    await text('knative/eventing/senders.patch.yaml'),
  )
  const { eventSenders } = await readConfig(
    Object.fromEntries(patch.map(({ value: { name, value } }) => [name, value])),
  )

  test('the function lets in the identities that Knative gives to its sources, and nobody else', () => {
    // knative.dev/eventing, pkg/auth/serviceaccount.go, with kmeta.ChildName of knative.dev/pkg: up to 63 characters.
    const identities = sources.map(({ kind, metadata: { namespace, name } }) => {
      const serviceAccount = `${name}oidc-sources.knative.dev-${kind}`.toLowerCase()
      expect(serviceAccount.length).toBeLessThanOrEqual(63)
      return `system:serviceaccount:${namespace}:${serviceAccount}`
    })
    expect(identities).toHaveLength(2)
    expect(eventSenders.oidc?.usernames.toSorted()).toEqual(identities.toSorted())
    for (const { spec } of sources) expect(spec.sink.audience).toBe(eventSenders.oidc?.audience)
    expect(eventSenders.keys).toEqual([])
  })

  test('no source sends more than a reference, and none looks at anything but applications', () => {
    const watching = sources.filter(({ kind }) => kind === 'ApiServerSource')
    expect(watching.map(({ spec: { mode, resources } }) => ({ mode, resources }))).toEqual([
      {
        mode: 'Reference',
        resources: [
          {
            apiVersion: 'helm.toolkit.fluxcd.io/v2',
            kind: 'HelmRelease',
            selector: {
              matchLabels: { 'apps.cozystack.io/application.group': 'apps.cozystack.io' },
              matchExpressions: [{ key: 'apps.cozystack.io/application.kind', operator: 'Exists' }],
            },
          },
        ],
      },
    ])
  })
})
