import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { isObject } from '../../src/core/json.ts'
import { type ControlPlane, startControlPlane } from '../control-plane/start.ts'
import { postgres, served, wrong } from '../definitions/blocks.ts'
import { definitionWith } from '../definitions/definition.ts'

const CRD = 'applicationdefinitions.cozystack.io'
const PATCH = join(import.meta.dirname, '../../deploy/crd/applicationdefinition-credentials.patch.yaml')
const DEFINITIONS = '/apis/cozystack.io/v1alpha1/applicationdefinitions'

let plane: ControlPlane
let names = 0

beforeAll(async () => {
  plane = await startControlPlane()
  const before = await create(postgres)
  expect(before.spec).not.toHaveProperty('credentials')
  await patch()
  // A changed schema is served a moment after it was stored.
  const isServed = async () => expect((await create(postgres)).spec).toHaveProperty('credentials')
  await vi.waitFor(isServed, { timeout: 20_000, interval: 250 })
})

afterAll(() => plane?.stop())

async function patch() {
  const done = await plane.kubectl(['patch', 'crd', CRD, '--type=json', `--patch-file=${PATCH}`])
  expect(done).toMatchObject({ code: 0 })
  return done
}

/** Creates a definition the way a client does that asks for no validation of its own, and answers what was stored. */
async function create(block: unknown, query = '') {
  names += 1
  const { metadata, spec } = definitionWith(block, { name: `definition-${names}`, kind: `Kind${names}` })
  const chartRef = { kind: 'ExternalArtifact', name: 'postgres', namespace: 'cozy-system' }
  const body = {
    apiVersion: 'cozystack.io/v1alpha1',
    kind: 'ApplicationDefinition',
    metadata,
    spec: { ...spec, release: { prefix: 'postgres-', chartRef } },
  }
  const headers = { 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await plane.adminFetch(new Request(`${plane.url}${DEFINITIONS}${query}`, init))
  const answer: unknown = await response.json()
  return {
    status: response.status,
    ...(isObject(answer) ? { spec: answer.spec, message: answer.message } : {}),
  }
}

describe('with the patch applied, the API server', () => {
  test.each(served)('stores as it is what is served: %s', async (_, block) => {
    expect(await create(block)).toMatchObject({ status: 201, spec: { credentials: block } })
  })

  test.each(wrong.filter(({ guard }) => guard !== 'blind'))(
    'refuses a block that $why',
    async ({ block, field }) => {
      const { status, message } = await create(block)
      expect(status).toBe(422)
      // Structural errors about a map's entry name it in dots, and a missing field is named by its parent in a rule.
      expect(message).toContain(`spec.credentials${field.replace(/\["(.*)"\]$/, '.$1')}`)
    },
  )

  test.each(wrong.filter(({ guard }) => guard === 'blind'))(
    'keeps what it cannot judge for the function to refuse: a block that $why',
    async ({ block }) => {
      expect(await create(block)).toMatchObject({ status: 201, spec: { credentials: block } })
    },
  )

  test('refuses nothing else than before: a definition without a block', async () => {
    expect(await create(undefined)).toMatchObject({ status: 201 })
  })

  test('takes the patch a second time', async () => {
    expect((await patch()).stdout).toContain('no change')
  })

  test('explains the block', async () => {
    const { stdout } = await plane.kubectl(['explain', 'applicationdefinition.spec.credentials.accounts'])
    expect(stdout).toContain('owner\t<string>\n  enum: tenant, platform')
  })
})
