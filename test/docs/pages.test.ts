import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
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
    const linked = await text(path === '' ? page : join(dirname(page), path))
    if (anchor !== undefined) expect(anchorsOf(linked), link).toContain(anchor)
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

test('an overlay that a page shows names the version that there is', async () => {
  const { version } = JSON.parse(await text('package.json'))
  for (const page of ['docs/install-apiservice.md', 'docs/install-knative.md']) {
    const [, ...tags] = /newTag: (.*)/.exec(await text(page)) ?? []
    expect(tags, page).toEqual([version])
    expect(await text(page)).toContain(`docker build -t registry.example.org/mintonce:${version} .`)
  }
})
