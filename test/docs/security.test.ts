import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { FAILURE_COOL_DOWN_MS, MAX_AGE_MS, UNKNOWN_KEY_COOL_DOWN_MS } from '../../src/auth/key-set.ts'
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
  const objects = parseAllDocuments(await text('knative/rbac/function.yaml')).map((each) => each.toJS())
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
  const { definitionsMaxAgeMs } = await readConfig({})
  expect(row('definitions')).toContain(`${definitionsMaxAgeMs / 1000} seconds`)
  expect(row("an issuer's keys")).toContain(`${MAX_AGE_MS / 60_000} minutes`)
  expect(row("an issuer's keys")).toContain(`every ${UNKNOWN_KEY_COOL_DOWN_MS / 1000} seconds`)
  expect(row('that an issuer failed')).toContain(`${FAILURE_COOL_DOWN_MS / 1000} seconds`)
})

test('the audit policy keeps bodies of tokens and Secrets out of the log', () => {
  const [, block = ''] = /```yaml\n(apiVersion: audit[\s\S]*?)```/.exec(security) ?? []
  expect(parse(block)).toMatchObject({
    apiVersion: 'audit.k8s.io/v1',
    rules: [{ level: 'Metadata', resources: [{ resources: ['secrets'] }, { resources: ['tokenreviews'] }] }],
  })
})
