import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { readConfig } from '../../src/config.ts'

const ROOT = join(import.meta.dirname, '../..')

const text = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8')

const objects = async (path: string): Promise<readonly unknown[]> =>
  parseAllDocuments(await text(path)).map((document) => document.toJS())

interface KnativeService {
  readonly metadata: { readonly namespace: string }
  readonly spec: { readonly template: { readonly spec: PodSpec } }
}

interface PodSpec {
  readonly serviceAccountName: string
  readonly timeoutSeconds: number
  readonly containers: readonly [{ readonly env: readonly Variable[] }]
}

interface Variable {
  readonly name: string
  readonly value: string
}

async function knativeService(): Promise<PodSpec & { readonly namespace: string }> {
  const [service] = (await objects('knative/service.yaml')) as readonly [KnativeService]
  return { ...service.spec.template.spec, namespace: service.metadata.namespace }
}

test('what the Knative Service sets are settings that the function knows', async () => {
  const { containers } = await knativeService()
  const env = Object.fromEntries(containers[0].env.map(({ name, value }) => [name, value]))
  expect(Object.keys(env)).toContain('MINTONCE_AUDIENCES')
  await expect(readConfig(env)).resolves.toEqual(await readConfig({}))
})

test('what wrangler.toml sets are settings that the function knows', async () => {
  const [, vars = ''] = (await text('wrangler.toml')).split('[vars]\n')
  const env = Object.fromEntries(
    [...vars.matchAll(/^(\w+) = "(.*)"$/gm)].map(([, name, value]) => [name, value]),
  )
  expect(Object.keys(env)).toContain('MINTONCE_AUDIENCES')
  await expect(readConfig(env)).resolves.toEqual(await readConfig({}))
})

test('Knative waits for longer than what is in flight may take', async () => {
  const { timeoutSeconds } = await knativeService()
  const { drainMs, deadlineMs } = await readConfig({})
  expect(timeoutSeconds * 1000).toBeGreaterThan(drainMs + deadlineMs)
})

test('the admission policy names the ServiceAccount that the function runs as', async () => {
  const { namespace, serviceAccountName } = await knativeService()
  const [policy] = await objects('deploy/base/admission-policy.yaml')
  expect(policy).toMatchObject({
    spec: {
      matchConditions: [
        {
          expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${serviceAccountName}'`,
        },
      ],
    },
  })
})
