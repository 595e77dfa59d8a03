import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '../../src/config.ts'
import { DEFAULT_NAMES } from '../../src/trust-anchor/names.ts'
import { ROOT } from '../cli/command.ts'
import {
  ALL_LEGS,
  AUTHORITIES,
  anchorPlace,
  PROJECTION,
  PROJECTIONS,
  TARGET,
} from '../helpers/anchor-place.ts'
import { DEFINITION, SECRETS } from '../helpers/sync-place.ts'
import { makeCertificates } from '../trust-anchor/made.ts'
import { readPage } from './blocks.ts'

const page = await readPage('docs/trust-anchor.md')
const text = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8')

/** What is set as code in the cells of the table with this heading, a list for each row. */
function codesOf(...heading: readonly string[]): readonly (readonly string[])[] {
  const [, rows] = page.text.split(`| ${heading.join(' | ')} |\n`)
  if (rows === undefined) throw new Error(`the page has no table with the columns ${heading.join(', ')}`)
  const [, ...lines] = rows.split('\n\n', 1)[0]?.split('\n') ?? []
  return lines.map((line) => [...line.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code))
}

const firstOf = (rows: readonly (readonly string[])[]) => rows.map(([first = '']) => first)

const block = (mark: string): string => page.blocks(mark)[0] ?? ''

describe('the tables', () => {
  test('of reasons has every reason that there is, and no other', async () => {
    const source = await text('src/trust-anchor/outcome.ts')
    const [, union = ''] = /type AnchorReason =\n([\s\S]*?)\n\n/.exec(source) ?? []
    const reasons = [...union.matchAll(/\| '(\w+)'/g)].map(([, reason = '']) => reason)
    expect(reasons).toContain('SourceRejected')
    const listed = firstOf(codesOf('reason', 'what it means', 'what to do'))
    expect(listed.toSorted()).toEqual(reasons.toSorted())
  })

  test('of Events has every one that there is, and no other', async () => {
    const sources = await Promise.all(
      ['events', 'release-legs'].map((name) => text(`src/trust-anchor/${name}.ts`)),
    )
    const events = [...sources.join('\n').matchAll(/'(CACert[A-Z]\w+)'/g)].map(([, event = '']) => event)
    expect(events).toContain('CACertInvalid')
    // The last row is for those that are made of a reason.
    const listed = firstOf(codesOf('event', 'on', 'what it means, and what to do'))
    expect(listed.toSorted()).toEqual(['CACert', ...new Set(events)].toSorted())
  })

  test('of names is the one that is built in', () => {
    const rows = codesOf('kind', 'Secret', 'key', 'what is in it', 'from')
    expect(new Map(rows.map(([kind = '', source, key]) => [kind, { source, key }]))).toEqual(DEFAULT_NAMES)
  })

  test('of operators without a CA has rows that are accepted, for kinds that have no other', async () => {
    const rows = codesOf('kind', 'where the CA comes from', 'a row for it')
    expect(rows).toHaveLength(2)
    for (const [kind = '', ...codes] of rows) {
      expect(DEFAULT_NAMES.has(kind)).toBe(false)
      const MINTONCE_TRUST_ANCHOR_NAMES = `{"${kind}":${codes.at(-1)}}`
      const { anchors } = await readConfig({ MINTONCE_TRUST_ANCHORS: 'on', MINTONCE_TRUST_ANCHOR_NAMES })
      expect(anchors?.names.get(kind)).toEqual({ source: '{release}-tls', key: 'ca.crt' })
    }
  })
})

test('the table of names to copy is accepted', async () => {
  const { anchors } = await readConfig({
    MINTONCE_TRUST_ANCHORS: 'on',
    MINTONCE_TRUST_ANCHOR_NAMES: block('names'),
  })
  expect(anchors?.names.size).toBe(2)
})

describe('what is shown to be copied', () => {
  test('the declaration publishes, and the definition selects what is published', async () => {
    const place = await anchorPlace()
    await place.secret()
    await place.admin.create(PROJECTIONS, parse(block('declaration')))
    const definition = parse(block('definition'))
    await place.order('orders', [])
    await place.admin.change(DEFINITION, ({ spec }) => {
      spec.secrets = definition.spec.secrets
    })
    expect(await place.reason(PROJECTION)).toBe('Projected')
    const { labels, annotations } = (await place.target()).metadata
    expect(labels).toMatchObject(definition.spec.secrets.include[0].matchLabels)
    expect(annotations['internal.cozystack.io/ca-cert-selectors']).toMatch(/^[0-9a-f]{64}$/)
  })

  test('the labelled Secret publishes itself for the release', async () => {
    const place = await anchorPlace(ALL_LEGS)
    const labelled = parse(block('labelled'))
    const { name, labels } = labelled.metadata
    const release = labels['internal.cozystack.io/publish-ca-cert-release']
    await place.admin.create(
      '/apis/helm.toolkit.fluxcd.io/v2/namespaces/tenant-acme/helmreleases',
      emptyRelease(release),
    )
    const data = { 'ca.crt': Buffer.from(AUTHORITIES.first).toString('base64') }
    await place.admin.create(SECRETS, { ...labelled, data })
    const declaration = { leg: 'label', namespace: 'tenant-acme', secret: name } as const
    expect(await place.reason(declaration)).toBe('Projected')
    expect((await place.admin.get(`${SECRETS}/${release}.tenant-ca`)).data).toEqual(data)
  })

  test('the pod mounts what is published, as the one key that there is', () => {
    const { spec } = parse(block('pod'))
    expect(spec.volumes[0].secret).toEqual({ secretName: TARGET })
    const [{ env, volumeMounts }] = spec.containers
    expect(env).toContainEqual({ name: 'PGSSLROOTCERT', value: `${volumeMounts[0].mountPath}/ca.crt` })
  })
})

test('of a certificate that is no CA, OpenSSL says what the page says', { timeout: 60_000 }, async () => {
  const { openssl, remove } = await makeCertificates()
  onTestFinished(remove)
  const verify = (anchor: string, server: string) =>
    openssl(['verify', '-purpose', 'sslserver', '-CAfile', `${anchor}.crt`, `${server}.crt`])
  expect(await verify('self-signed leaf', 'self-signed leaf')).toContain('OK')
  expect(await verify('ec', 'leaf')).toContain('OK')
  await expect(verify('leaf', 'leaf')).rejects.toThrow('unable to get local issuer certificate')
})

const emptyRelease = (name: string) => ({
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  metadata: { name },
  spec: {},
})
