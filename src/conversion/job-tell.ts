import type { Deps } from '../core/deps.ts'
import { regardingRelease } from '../credentials/events.ts'
import type { Kube } from '../k8s/kube.ts'
import type { HelmRelease, KubeEvent } from '../k8s/objects.ts'
import { hintOf } from './causes.ts'
import { skipEvents } from './events.ts'
import { sendEvent } from './hook.ts'
import type { Looked } from './job-look.ts'
import type { JobRelease } from './job-release.ts'
import { wordsOfNote } from './notes.ts'

interface Services {
  readonly kube: Pick<Kube, 'createEvent'>
  readonly deps: Pick<Deps, 'now' | 'log'>
}

interface Told {
  readonly looked: Looked
  /** Undefined when it is gone, or could not be read. */
  readonly release: HelmRelease | undefined
}

/** Tells what became of a release: in the log, and by Events, of which a lost one is said again by the next run. */
export async function tellResult(
  { kube, deps }: Services,
  { namespace, release: name, recorded: { kind } }: JobRelease,
  { looked, release }: Told,
  dryRun: boolean,
): Promise<void> {
  const about = { namespace, release: name, kind }
  deps.log('info', 'conversion_release', { ...about, ...countsOf(looked), dryRun })
  for (const note of looked.notes) deps.log('warn', 'conversion_note', { ...about, note: wordsOfNote(note) })
  for (const { cause, message } of looked.skips) {
    deps.log('warn', 'conversion_skipped', { ...about, cause, message, hint: hintOf(cause) })
  }
  for (const username of looked.notRotated) deps.log('warn', 'conversion_not_rotated', { ...about, username })
  if (dryRun || release === undefined) return
  for (const event of [...skipEvents(release, looked.skips), ...notRotatedEvents(release, looked)]) {
    await sendEvent(kube, deps, event)
  }
}

const countsOf = (looked: Looked) =>
  looked.is === 'gone'
    ? { isGone: true }
    : {
        converted: looked.accounts.filter(({ result }) => result !== 'unchanged').length,
        passwords: looked.passwords,
        keys: looked.keys,
        isSecretDeleted: looked.isSecretDeleted,
        rotated: looked.rotated,
        skipped: looked.skips.length,
      }

export const NOT_ROTATED_HINT =
  'tenants could read it: change it in the engine and in the Secret by hand, and mark it there (docs/converting.md)'

function notRotatedEvents(release: HelmRelease, { notRotated }: Looked): readonly KubeEvent[] {
  if (notRotated.length === 0) return []
  const users = notRotated.map((username) => JSON.stringify(username)).join(', ')
  return [
    {
      type: 'Warning',
      reason: 'NotRotated',
      action: 'Convert',
      note: `nobody here can rotate the password of ${users}; ${NOT_ROTATED_HINT}`,
      isStanding: true,
      regarding: regardingRelease(release),
    },
  ]
}
