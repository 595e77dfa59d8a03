import { join } from 'node:path'
import { cachedFolder } from './cache.ts'
import { succeed } from './command.ts'
import { report, requireGo } from './go.ts'

const MODULE = join(import.meta.dirname, 'flux-notification')
const INPUTS = ['go.mod', 'go.sum', 'crds.go'].map((name) => join(MODULE, name))

/**
 * The folder of the definitions that Flux's notification-controller ships (Provider, Alert), generated once from its API
 * package into the cache folder. Apart from HelmReleases, whose module needs older versions of the same packages.
 */
export function fluxNotificationCrds(): Promise<string> {
  return cachedFolder('flux-notification', INPUTS, async (unfinished) => {
    await requireGo()
    report("generating Flux's definitions of Provider and Alert (about half a minute, once)")
    const paths = 'paths=github.com/fluxcd/notification-controller/api/v1beta3'
    const args = ['tool', 'controller-gen', 'crd', paths, `output:crd:dir=${unfinished}`]
    await succeed('go', args, { cwd: MODULE, env: { CGO_ENABLED: '0' } })
  })
}
