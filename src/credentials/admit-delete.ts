import type { CallOptions } from '../k8s/kube.ts'
import { type AdmissionServices, servedBy } from './admit-served.ts'
import { isSuspended } from './application.ts'
import { ALLOWED, type Review, refused, type Verdict } from './verdict.ts'

/**
 * The delete of a release. One thing is refused: helm-controller takes the finalizer off a suspended release without an
 * uninstall (`github.com/fluxcd/helm-controller/internal/controller/helmrelease_controller.go`), and what it installed
 * goes on running with passwords that nobody can change any more. What cannot be read holds up nothing.
 */
export async function admitDelete(
  services: AdmissionServices,
  { namespace, name, oldObject }: Review,
  options: CallOptions,
): Promise<Verdict> {
  if (oldObject === undefined || !isSuspended(oldObject)) return ALLOWED
  const [served, within] = await Promise.all([
    servedBy(services, oldObject, options),
    services.kube.getNamespace(namespace, options),
  ])
  if (!served.ok || served.value === undefined || !within.ok) return ALLOWED
  if (within.value === undefined || within.value.metadata.deletionTimestamp !== undefined) return ALLOWED
  const message = `HelmRelease ${JSON.stringify(name)} is suspended: resume it first: Flux skips the uninstall of a suspended release, and what it installed would stay`
  return refused({ is: 'forbidden', messages: [message] })
}
