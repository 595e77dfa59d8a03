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
  const { definitionsMaxAgeMs, requestHeaderMaxAgeMs } = await readConfig({})
  expect(row('whom to believe as front proxy')).toContain(`${requestHeaderMaxAgeMs / 1000} seconds`)
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

/** The rules of the only audit policy on a page. */
function auditRulesOf(page: string): readonly AuditRule[] {
  const [, block = ''] = /```yaml\n(apiVersion: audit[\s\S]*?)```/.exec(page) ?? []
  return parse(block).rules
}

interface AuditRule {
  readonly level: string
  readonly resources: readonly { readonly group: string; readonly resources: readonly string[] }[]
}

test('the audit policy keeps bodies of tokens, Secrets and mints out of the log', () => {
  const [rule, ...more] = auditRulesOf(security)
  expect(more).toEqual([])
  expect(rule?.level).toBe('Metadata')
  const named = rule?.resources.flatMap(({ resources }) => resources)
  expect(named).toEqual(
    expect.arrayContaining(['secrets', 'serviceaccounts/token', 'tokenreviews', 'credentials/mint']),
  )
})

test('it is the one of the page about the APIService; on Knative there is no mint to leave out', async () => {
  const [rule] = auditRulesOf(security)
  expect(auditRulesOf(await text('docs/install-apiservice.md'))).toEqual([rule])
  const [onKnative] = auditRulesOf(await text('docs/install-knative.md'))
  expect(onKnative).toEqual({ ...rule, resources: rule?.resources.slice(0, 2) })
})

test('the one ConfigMap that the function may read is the one that is named', async () => {
  const objects = parseAllDocuments(await text('deploy/base/rbac/function.yaml')).map((each) => each.toJS())
  const roles: readonly ClusterRole[] = objects.filter(({ kind }) => kind === 'Role')
  expect(roles).toMatchObject([{ metadata: { namespace: 'kube-system' } }])
  const name = 'extension-apiserver-authentication'
  const rule = { apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['get'] }
  expect(roles.flatMap(({ rules }) => rules)).toEqual([rule])
  expect(security).toContain(
    `In \`kube-system\` a Role lets it \`get\` one ConfigMap beside that, \`${name}\``,
  )
})
