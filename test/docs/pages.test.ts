import { access, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from '../cli/command.ts'
import { exampleDefinitions } from '../contract/backends/manifests.ts'
import { fencesIn, isForShell } from './blocks.ts'

const text = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8')

const pages = (await readdir(join(ROOT, 'docs'), { recursive: true }))
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name))

/** The anchors that a page has: its headings, as GitHub makes them. */
const anchorsOf = (page: string): readonly string[] =>
  [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )

test.each(pages)('%s: what is linked is there', async (page) => {
  const links = [...(await text(page)).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
  for (const [link, path = '', anchor] of links) {
    const linked = path === '' ? page : join(dirname(page), path)
    // It may be a folder.
    await access(join(ROOT, linked))
    if (anchor !== undefined) expect(anchorsOf(await text(linked)), link).toContain(anchor)
  }
})

test('the pages for installing are among them, and link to each other', async () => {
  expect(pages).toEqual(
    expect.arrayContaining([
      'docs/install-apiservice.md',
      'docs/install-knative.md',
      'docs/upgrade-and-uninstall.md',
    ]),
  )
  for (const page of ['docs/install-apiservice.md', 'docs/install-knative.md']) {
    expect(await text(page)).toContain('](upgrade-and-uninstall.md)')
  }
})

test('the blocks of engines are those that the engines are tested with', async () => {
  const page = await text('docs/install-apiservice.md')
  const [, yaml = ''] = /```yaml\n(credentials:[\s\S]*?)```/.exec(page) ?? []
  const [, patch = ''] = /<<'EOF'\nspec:\n([\s\S]*?)^EOF$/m.exec(page) ?? []
  const shown = [patch, ...yaml.split('---\n')].map((block) => parse(block))
  const definitions = exampleDefinitions().map((definition) => Reflect.get(definition, 'spec'))
  expect(shown).toEqual(definitions.map(({ credentials }) => ({ credentials })))
})

test('an overlay that a page shows names the version that there is', async () => {
  const { version } = JSON.parse(await text('package.json'))
  for (const page of ['docs/install-apiservice.md', 'docs/install-knative.md']) {
    const [, ...tags] = /newTag: (.*)/.exec(await text(page)) ?? []
    expect(tags, page).toEqual([version])
    expect(await text(page)).toContain(`docker build -t registry.example.org/mintonce:${version} .`)
  }
})

describe('commands are run, or the page says why they are not', () => {
  /** Who runs the blocks with these marks: the test asks for each mark by its name. */
  const RUN_BY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    'README.md': {
      ci: 'test/docs/readme.test.ts',
      sandbox: 'test/docs/readme.test.ts',
      cluster: 'test/cluster/docs.test.ts',
      served: 'test/cluster/docs.test.ts',
    },
    'docs/worker.md': {
      ci: 'test/docs/worker.test.ts',
      sandbox: 'test/docs/worker.test.ts',
      worker: 'test/docs/worker.test.ts',
      beside: 'test/docs/worker.test.ts',
      cluster: 'test/cluster/docs.test.ts',
      workerd: 'test/cluster/worker.test.ts',
      'workerd-certificate': 'test/cluster/worker.test.ts',
    },
    'docs/kubectl.md': { served: 'test/cluster/kubectl-plugins.test.ts' },
    'docs/keeping-in-step.md': {
      cluster: 'test/cluster/keeping-in-step.test.ts',
      sandbox: 'test/docs/keeping-in-step.test.ts',
    },
    'docs/adding-an-engine.md': { check: 'test/docs/adding-an-engine.test.ts' },
    'docs/restore.md': { cluster: 'test/cluster/restore.test.ts' },
    'docs/converting.md': { cluster: 'test/cluster/convert-docs.test.ts' },
    'docs/trust-anchor.md': {
      cluster: 'test/cluster/trust-anchor-docs.test.ts',
      served: 'test/cluster/trust-anchor-docs.test.ts',
    },
    'docs/callers/external-secrets.md': {
      cluster: 'test/engines/external-secrets.test.ts',
      served: 'test/engines/external-secrets.test.ts',
    },
    'docs/callers/rotation.md': { served: 'test/engines/rotation.test.ts' },
    'docs/callers/go.md': { served: 'test/cluster/callers-programs.test.ts' },
    'docs/callers/python.md': { served: 'test/cluster/callers-programs.test.ts' },
    'docs/callers/gitops.md': { served: 'test/cluster/callers-gitops.test.ts' },
    'docs/callers/terraform.md': { served: 'test/cluster/callers-terraform.test.ts' },
    'docs/callers/curl.md': {
      sandbox: 'test/docs/curl.test.ts',
      cluster: 'test/cluster/callers-ci.test.ts',
    },
    'docs/callers/ci-oidc.md': { cluster: 'test/cluster/callers-ci.test.ts' },
    'docs/callers/typescript.md': {
      package: 'test/runtime/client-package.test.ts',
      install: 'test/runtime/client-package.test.ts',
    },
    ...Object.fromEntries(
      ['install-apiservice', 'install-knative', 'upgrade-and-uninstall'].map((name) => [
        `docs/${name}.md`,
        { cluster: 'test/cluster/docs.test.ts', served: 'test/cluster/docs.test.ts' },
      ]),
    ),
  }
  const shellBlocksOf = async (page: string) => fencesIn(await text(page)).filter(isForShell)

  test.each(['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...pages])('%s', async (page) => {
    for (const { mark = '', block } of await shellBlocksOf(page)) {
      const [, reason] = /^not run: (.{10,})$/.exec(mark) ?? []
      const runner = RUN_BY[page]?.[mark]
      expect(reason ?? runner, `${page}, marked "${mark}":\n${block}`).toBeDefined()
    }
  })

  test.each(Object.entries(RUN_BY))(
    'what is said to run the blocks of %s reads that page',
    async (page, runners) => {
      const marks = new Set((await shellBlocksOf(page)).map(({ mark }) => mark))
      for (const [mark, runner] of Object.entries(runners)) {
        expect(marks, page).toContain(mark)
        expect(await text(runner), runner).toContain(`'${page}'`)
      }
    },
  )

  test('every code block of a page is found, and under its heading', async () => {
    for (const page of ['README.md', ...pages]) {
      const fences = (await text(page)).match(/^ *```/gm) ?? []
      expect(fencesIn(await text(page)).length * 2, page).toBe(fences.length)
    }
    const [first] = fencesIn(await text('docs/install-apiservice.md'))
    expect(first).toMatchObject({ heading: '1. What you need', mark: 'cluster', language: 'sh' })
  })
})
