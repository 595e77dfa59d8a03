import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../cli/command.ts'

/** A page of the documentation. */
export interface Page {
  readonly text: string
  /** The code blocks that stand under a comment `<!-- mark -->`. Throws when there is none. */
  readonly blocks: (mark: string) => readonly string[]
}

/** By its path in the checkout. */
export async function readPage(path: string): Promise<Page> {
  const text = await readFile(join(ROOT, path), 'utf8')
  const fences = fencesIn(text)
  return {
    text,
    blocks: (wanted) => {
      const found = fences.filter(({ mark }) => mark === wanted)
      if (found.length === 0) throw new Error(`${path} has no block that is marked ${wanted}`)
      return found.map(({ block }) => block)
    },
  }
}

/** A code block, with what the page says of it. */
export interface Fence {
  /** The heading that it stands under, without the `#`. */
  readonly heading: string
  /** What the comment in the line above says. */
  readonly mark?: string
  readonly language: string
  readonly block: string
}

/** All code blocks of a page, in order. A `#` inside of one is no heading. */
export function fencesIn(page: string): readonly Fence[] {
  const parts = page.matchAll(
    /^#+ (?<heading>.*)$|^(?:<!-- (?<mark>.*) -->\n)?```(?<language>\w*)\n(?<block>[\s\S]*?)^```$/gm,
  )
  let heading = ''
  const fences: Fence[] = []
  for (const { groups = {} } of parts) {
    const { mark, language, block } = groups
    heading = groups.heading ?? heading
    if (language === undefined || block === undefined) continue
    fences.push({ heading, language, block, ...(mark === undefined ? {} : { mark }) })
  }
  return fences
}

/** What somebody would paste into a terminal. */
export const isForShell = ({ language }: Fence): boolean =>
  ['', 'sh', 'bash', 'shell', 'console', 'zsh'].includes(language)

/** The commands of a page that are marked for CI. */
export const markedForCi = ({ blocks }: Page): readonly string[] =>
  blocks('ci').flatMap((block) => block.trim().split(/\n| && /))

/** What CI runs, a command each. */
export async function runByCi(): Promise<readonly string[]> {
  const script = await readFile(join(ROOT, '.ci/run'), 'utf8')
  return [...script.matchAll(/^ *run ([^{\n]*?)(?: && \{)?$/gm)].map(([, command = '']) => command)
}

/** Whether one of these is the command, maybe with more options. */
export const includesCommand = (commands: readonly string[], wanted: string): boolean =>
  commands.some((command) => command === wanted || command.startsWith(`${wanted} --`))

/** The npm scripts that a page names. */
export const scriptsIn = ({ text }: Page): readonly string[] =>
  [...text.matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name)
