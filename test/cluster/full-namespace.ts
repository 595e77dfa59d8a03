import type { ControlPlane } from '../control-plane/start.ts'
import { eventually } from './eventually.ts'
import { succeed } from './stand-ins.ts'

/**
 * From here on nobody makes another Secret in the namespace: a quota, and admission has heard of it. Answers how to end
 * that.
 */
export async function fillNamespace(plane: ControlPlane, namespace: string): Promise<() => Promise<void>> {
  const metadata = { name: 'full', namespace }
  await plane.apply([{ apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard: { secrets: '1' } } }])
  const another = ['create', 'secret', 'generic', 'one-more', '-n', namespace, '--dry-run=server']
  await eventually('the quota counts', async () =>
    (await plane.kubectl(another)).stderr.includes('exceeded quota: full'),
  )
  return async () => {
    await succeed(plane, ['delete', 'resourcequota', 'full', '-n', namespace])
    await eventually('the quota is gone', async () => (await plane.kubectl(another)).code === 0)
  }
}
