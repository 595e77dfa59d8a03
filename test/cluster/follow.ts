import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { CURL, ROOT } from '../cli/command.ts'
import { command } from '../control-plane/command.ts'
import type { ControlPlane } from '../control-plane/start.ts'
import { type Fence, fencesIn, readPage } from '../docs/blocks.ts'
import { BUILD_FILES } from '../helpers/build-files.ts'

/** `cluster`: the API server is enough. `served`: the function answers as well. */
type Mark = 'cluster' | 'served'

/** A page of the documentation, followed by somebody with a terminal of their own. */
export interface Followed {
  /** A clone after `npm ci`, as far as the commands of a page use it. */
  readonly folder: string
  /**
   * Pastes the blocks under a heading into one shell, which ends at the first mistake, and answers what they print.
   * Throws when they fail, and when there is none.
   */
  readonly run: (heading: string, ...marks: readonly Mark[]) => Promise<string>
  /** The headings of blocks that nobody has run. */
  readonly left: () => readonly string[]
  readonly remove: () => Promise<void>
}

const COPIED = ['deploy', 'knative', 'docs', 'bin', 'examples', 'src', 'dev', ...BUILD_FILES]
const LINKED = ['node_modules']
const isMark = (mark: string | undefined): mark is Mark => mark === 'cluster' || mark === 'served'

/** `replace`: changes what a block says, where this machine has something else in its place. */
export async function follow(
  path: string,
  plane: ControlPlane,
  replace: (block: string) => string = (block) => block,
): Promise<Followed> {
  const { text } = await readPage(path)
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-clone.'))
  for (const name of COPIED) await cp(join(ROOT, name), join(folder, name), { recursive: true })
  for (const name of LINKED) await symlink(join(ROOT, name), join(folder, name))
  const fences = fencesIn(text).filter(({ mark }) => isMark(mark))
  const done = new Set<Fence>()
  const env = {
    KUBECONFIG: plane.kubeconfig,
    KUBECACHEDIR: join(folder, '.kube/cache'),
    KUBERC: 'off',
    npm_config_update_notifier: 'false',
    PATH: `${dirname(plane.binaries.kubectl)}:${process.env.PATH}`,
  }
  return {
    folder,
    run: async (heading, ...marks) => {
      const wanted = fences.filter(
        (fence) =>
          fence.heading === heading && (marks.length === 0 || marks.some((mark) => mark === fence.mark)),
      )
      if (wanted.length === 0) throw new Error(`${path} has nothing to run under "${heading}"`)
      const script = replace(wanted.map(({ block }) => block).join('\n'))
      const { code, stdout, stderr } = await command('bash', ['-euo', 'pipefail', '-c', `${CURL}${script}`], {
        cwd: folder,
        env,
      })
      if (code !== 0)
        throw new Error(`${path}, "${heading}" ended with ${code}:\n${script}\n${stdout}${stderr}`)
      for (const fence of wanted) done.add(fence)
      return stdout
    },
    left: () => fences.filter((fence) => !done.has(fence)).map(({ heading }) => heading),
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  }
}
