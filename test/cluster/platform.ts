import { exampleFunction, exampleTenant } from '../../src/sandbox/example.ts'
import { applyForeignCrds } from '../control-plane/crds.ts'
import type { ControlPlane } from '../control-plane/start.ts'

/** Of the function itself, which is not installed yet. */
const [, , FUNCTION] = exampleFunction.username.split(':')

/**
 * A platform before anything of ours: Knative's and cert-manager's resources, the example tenant with its applications
 * and the people in it, and definitions without `spec.credentials`, which the API server would drop. Throws what went wrong.
 */
export async function applyPlatform(plane: Pick<ControlPlane, 'apply' | 'kubectl'>): Promise<void> {
  await applyForeignCrds(plane)
  await plane.apply(exampleTenant().filter(isOfPlatform).map(asWritten))
}

function isOfPlatform(object: object): boolean {
  const { kind, metadata } = object as Named
  return !(metadata.namespace === FUNCTION || (kind === 'Namespace' && metadata.name === FUNCTION))
}

/** Nor a status, which is for Flux to write. */
function asWritten(object: object): object {
  const { kind, spec, status: _, ...rest } = object as Named
  const { credentials: __, ...known } = spec ?? {}
  return { kind, ...rest, ...(spec && { spec: kind === 'ApplicationDefinition' ? known : spec }) }
}

interface Named {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: { readonly credentials?: object }
  readonly status?: object
}
