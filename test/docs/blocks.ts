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
  return {
    text,
    blocks: (mark) => {
      const found = [...text.matchAll(new RegExp(`<!-- ${mark} -->\n\`\`\`\\w+\n(.*?)\`\`\``, 'gs'))]
      if (found.length === 0) throw new Error(`${path} has no block that is marked ${mark}`)
      return found.map(([, block = '']) => block)
    },
  }
}

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
