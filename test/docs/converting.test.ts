import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { CAUSES } from '../../src/conversion/causes.ts'
import { MAX_ENTRIES, RECORD_NAMES } from '../../src/conversion/record-store.ts'
import { ROOT } from '../cli/command.ts'
import { exampleDefinitions } from '../contract/backends/manifests.ts'
import { readPage } from './blocks.ts'

const page = await readPage('docs/converting.md')
const text = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8')

/** The rows of the table with this heading, as cells. */
function tableUnder(heading: string): readonly (readonly string[])[] {
  const [, section = ''] = page.text.split(`\n${heading}\n`)
  const [, table = ''] = /\n(\|[\s\S]*?)\n\n/.exec(section) ?? []
  return table
    .split('\n')
    .slice(2)
    .map((row) =>
      row
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

test('the table of causes has every cause that there is, each with its state and how to mend it', () => {
  const rows = tableUnder('## What was left out')
  expect(rows.map(([cause = '']) => cause.replaceAll('`', '')).toSorted()).toEqual(
    Object.keys(CAUSES).toSorted(),
  )
  for (const row of rows) for (const cell of row) expect(cell).not.toBe('')
})

test('the blocks that are shipped are those that the engines are tested with', async () => {
  const configMap = parse(await text('deploy/convert/common/definitions.yaml'))
  const shipped = parseAllDocuments(configMap.data['definitions.yaml']).map((each) => each.toJS().spec)
  const kinds = shipped.map(({ application }) => application.kind)
  expect(kinds).toEqual(['Postgres', 'MariaDB', 'ClickHouse'])
  const tested = exampleDefinitions().map((definition) => Reflect.get(definition, 'spec'))
  for (const { application, credentials } of shipped) {
    const [example] = tested.filter((each) => each.application.kind === application.kind)
    expect(credentials).toEqual(example.credentials)
  }
})

test('the table of rights says what the roles say', async () => {
  const rows = tableUnder('## Rights')
  const cellOf = (resource: string, column: number) =>
    rows.find(([what = '']) => what.includes(resource))?.[column]?.split(';')[0]
  for (const [column, part] of [
    [1, 'hook'],
    [2, 'job'],
  ] as const) {
    const documents = parseAllDocuments(await text(`deploy/convert/${part}/rbac.yaml`)).map((each) =>
      each.toJS(),
    )
    const { rules } = documents.find(({ kind }) => kind === 'ClusterRole')
    for (const [resource, row] of [
      ['secrets', 'Secrets, every namespace'],
      ['helmreleases', 'HelmReleases'],
      ['applicationdefinitions', 'ApplicationDefinitions'],
      ['pods', 'Roles, Pods'],
      ['roles', 'Roles, Pods'],
      ['pods/exec', '`pods/exec`'],
      ['events', 'Events'],
    ] as const) {
      const rule = rules.find(({ resources }: { resources: readonly string[] }) =>
        resources.includes(resource),
      )
      expect(cellOf(row, column), `${part} ${resource}`).toBe(
        rule === undefined ? 'none' : rule.verbs.join(', '),
      )
    }
  }
})

test('the command of each Job is one of the page, with the rights of its own account', async () => {
  for (const part of ['hook', 'job']) {
    const [job] = parseAllDocuments(await text(`deploy/convert/${part}/job.yaml`)).map((each) => each.toJS())
    const { serviceAccountName, containers } = job.spec.template.spec
    expect(serviceAccountName).toBe(`mintonce-convert-${part}`)
    expect(containers[0].command.slice(0, 5)).toEqual([
      'node',
      'dist/cli.js',
      'convert',
      part,
      '--platform-namespace=mintonce',
    ])
    expect(page.text).toContain(`mintonce convert ${part} --kubeconfig`)
  }
})

test('both roles name every ConfigMap that a record may have, and the page says how many releases they hold', async () => {
  for (const part of ['hook', 'job']) {
    const documents = parseAllDocuments(await text(`deploy/convert/${part}/rbac.yaml`)).map((each) =>
      each.toJS(),
    )
    const [{ resourceNames }] = documents.find(({ kind }) => kind === 'Role').rules
    expect(resourceNames, part).toEqual(RECORD_NAMES)
  }
  const most = (MAX_ENTRIES * RECORD_NAMES.length).toLocaleString('en-US')
  expect(page.text).toContain(`With more than ${MAX_ENTRIES} releases the record goes on`)
  expect(page.text).toContain(`more than ${most}\n`)
})

test('a chart that carries the hook runs it before it changes anything, and what it needs before that', async () => {
  const files = [
    'common/definitions',
    'common/record-policy',
    'hook/rbac',
    'hook/admission-policy',
    'hook/job',
  ]
  const texts = await Promise.all(files.map((file) => text(`deploy/convert/${file}.yaml`)))
  const objects = texts.flatMap((each) => parseAllDocuments(each)).map((each) => each.toJS())
  const weights = objects.map(({ kind, metadata }) => {
    expect(metadata.annotations, `${kind} ${metadata.name}`).toMatchObject({
      'helm.sh/hook': 'pre-upgrade',
      'helm.sh/hook-delete-policy': 'before-hook-creation',
    })
    return [kind, Number(metadata.annotations['helm.sh/hook-weight'])] as const
  })
  const [[, last] = ['', 0], ...more] = weights.filter(([kind]) => kind === 'Job')
  expect(more).toEqual([])
  expect(weights.filter(([kind, weight]) => kind !== 'Job' && weight >= last)).toEqual([])
})
