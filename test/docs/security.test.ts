import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig } from '../../src/config.ts'

const ROOT = join(import.meta.dirname, '../..')
const text = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8')

const security = await text('SECURITY.md')

interface ClusterRole {
  readonly kind: string
  readonly rules: readonly {
    readonly apiGroups: readonly string[]
    readonly resources: readonly string[]
    readonly verbs: readonly string[]
  }[]
}

test('the function has the rights that the threat model lists, and no other', async () => {
  const objects = parseAllDocuments(await text('deploy/base/rbac/function.yaml')).map((each) => each.toJS())
  const roles: readonly ClusterRole[] = objects.filter(({ kind }) => kind === 'ClusterRole')
  const granted = roles.flatMap(({ rules }) =>
    rules.map(({ apiGroups, resources, verbs }) => {
      const group = apiGroups.map((name) => (name === '' ? 'core' : `\`${name}\``)).join(', ')
      return `| ${group} | ${coded(resources)} | ${coded(verbs)} |`
    }),
  )
  const [, rows = ''] = security.split('| API group | resources | verbs |\n|---|---|---|\n')
  expect(granted.length).toBeGreaterThan(3)
  expect(rows.split('\n\n', 1)[0]?.split('\n')).toEqual(granted)
})

const coded = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ')

test('what is cached is kept for as long as the threat model says', async () => {
  const row = (what: string) => security.split('\n').find((line) => line.startsWith(`| ${what} |`))
  const keySet = await text('src/auth/key-set.ts')
  const inCluster = await text('src/k8s/node-in-cluster.ts')
  const { definitionsMaxAgeMs } = await readConfig({})
  expect(row('definitions')).toContain(`${definitionsMaxAgeMs / 1000} seconds`)
  expect(row("an issuer's keys")).toContain(`${secondsIn(keySet, 'MAX_AGE_MS') / 60} minutes`)
  expect(row("an issuer's keys")).toContain(`every ${secondsIn(keySet, 'UNKNOWN_KEY_COOL_DOWN_MS')} seconds`)
  expect(row('that an issuer failed')).toContain(`${secondsIn(keySet, 'FAILURE_COOL_DOWN_MS')} seconds`)
  expect(row("the function's own token and the CA of the API server")).toContain(
    `${secondsIn(inCluster, 'READ_AGAIN_MS')} seconds`,
  )
})

/** A constant in milliseconds, a product of numbers, as a module defines it. */
function secondsIn(source: string, name: string): number {
  const factors = new RegExp(`^(?:export )?const ${name} = ([\\d_ *]+)$`, 'm').exec(source)?.[1]
  if (factors === undefined) throw new Error(`there is no ${name}`)
  return (
    factors.split('*').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1) / 1000
  )
}

test('the audit policy keeps bodies of tokens and Secrets out of the log', () => {
  const [, block = ''] = /```yaml\n(apiVersion: audit[\s\S]*?)```/.exec(security) ?? []
  expect(parse(block)).toMatchObject({
    apiVersion: 'audit.k8s.io/v1',
    rules: [{ level: 'Metadata', resources: [{ resources: ['secrets'] }, { resources: ['tokenreviews'] }] }],
  })
})
