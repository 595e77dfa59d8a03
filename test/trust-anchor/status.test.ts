import { describe, expect, test } from 'vitest'
import type { TenantProjection } from '../../src/k8s/objects.ts'
import { withStatus } from '../../src/trust-anchor/status.ts'
import { verdict } from '../../src/trust-anchor/verdict.ts'

const NOW = Date.parse('2026-10-02T09:14:07.500Z')
const BEFORE = '2026-10-01T00:00:00Z'

const projection = (status?: Readonly<Record<string, unknown>>): TenantProjection => ({
  apiVersion: 'internal.cozystack.io/v1alpha1',
  kind: 'TenantProjection',
  metadata: { name: 'x', namespace: 'y', uid: 'u', resourceVersion: '1', generation: 3 },
  spec: { projections: [] },
  ...(status && { status }),
})

const READY = {
  type: 'Ready',
  status: 'True',
  observedGeneration: 3,
  lastTransitionTime: BEFORE,
  reason: 'Projected',
  message: 'published',
}
const GOOD = verdict('Projected', 'published')
const BAD = verdict('SourceNotFound', 'there is no Secret x yet')

/** As `k8s.io/apimachinery/pkg/api/meta/conditions.go`, SetStatusCondition, has it. */
describe('the status', () => {
  test('of one that has none says what came of it, since now', () => {
    expect(withStatus(projection(), GOOD, NOW)).toEqual(
      projection({
        observedGeneration: 3,
        conditions: [{ ...READY, lastTransitionTime: '2026-10-02T09:14:07Z' }],
      }),
    )
  })

  test('that says so already is not written', () => {
    const said = projection({ observedGeneration: 3, conditions: [READY] })
    expect(withStatus(said, GOOD, NOW)).toBeUndefined()
  })

  test('changes its time with its value', () => {
    const said = projection({ observedGeneration: 3, conditions: [READY] })
    expect(withStatus(said, BAD, NOW)?.status?.conditions).toEqual([
      {
        ...READY,
        status: 'False',
        reason: 'SourceNotFound',
        message: 'there is no Secret x yet',
        lastTransitionTime: '2026-10-02T09:14:07Z',
      },
    ])
  })

  test.each([
    ['another reason', { ...READY, status: 'False', reason: 'SourceRejected' }, BAD],
    ['an older generation', { ...READY, observedGeneration: 2 }, GOOD],
  ])('keeps its time when it only has %s', (_, condition, done) => {
    const said = projection({ observedGeneration: 3, conditions: [condition] })
    expect(withStatus(said, done, NOW)?.status).toMatchObject({
      observedGeneration: 3,
      conditions: [{ reason: done.reason, message: done.message, lastTransitionTime: BEFORE }],
    })
  })

  /** As kube-apiserver notes who set which field (`metav1.ManagedFieldsEntry`). */
  const setBy = (manager: string) => ({
    manager,
    operation: 'Update',
    apiVersion: 'internal.cozystack.io/v1alpha1',
    fieldsType: 'FieldsV1',
    subresource: 'status',
    fieldsV1: {
      'f:status': {
        'f:conditions': { '.': {}, 'k:{"type":"Ready"}': { '.': {}, 'f:type': {}, 'f:message': {} } },
      },
    },
  })
  const saidBy = (managedFields: unknown, condition: object = READY) => {
    const { metadata, ...said } = projection({ observedGeneration: 3, conditions: [condition] })
    return { ...said, metadata: { ...metadata, managedFields } }
  }

  test('in other words of ours is written anew, and keeps its time', () => {
    const said = saidBy([setBy('kubectl'), setBy('mintonce')], { ...READY, message: 'before' })
    expect(withStatus(said, GOOD, NOW)?.status).toEqual({ observedGeneration: 3, conditions: [READY] })
  })

  test.each([
    ['another controller', [setBy('cozystack-controller')]],
    ['nobody knows whom', undefined],
    ['somebody, and its time by us', [{ ...setBy('mintonce'), fieldsV1: { 'f:status': {} } }]],
  ])('in words of %s is left: the other would take them back for ever', (_, managedFields) => {
    const theirs = { ...READY, message: 'all declared projections are published' }
    expect(withStatus(saidBy(managedFields, theirs), GOOD, NOW)).toBeUndefined()
    // What is another thing is said, in our words.
    for (const other of [{ status: 'False' }, { reason: 'SourceRejected' }, { observedGeneration: 2 }]) {
      const next = withStatus(saidBy(managedFields, { ...theirs, ...other }), GOOD, NOW)
      expect(next?.status?.conditions).toMatchObject([{ reason: 'Projected', message: 'published' }])
    }
  })

  test('that has seen an older generation is written, be it the same for the rest', () => {
    const said = projection({ observedGeneration: 2, conditions: [READY] })
    expect(withStatus(said, GOOD, NOW)?.status).toEqual({ observedGeneration: 3, conditions: [READY] })
  })

  test('keeps what others say in it', () => {
    const others = { type: 'Reconciled', status: 'True' }
    const said = projection({ phase: 'x', observedGeneration: 3, conditions: [others, READY] })
    const { status } = withStatus(said, BAD, NOW) ?? {}
    expect(status).toMatchObject({ phase: 'x', conditions: [others, { type: 'Ready', status: 'False' }] })
    expect(status?.conditions).toHaveLength(2)
  })

  test.each([
    ['no list', 'x'],
    ['no objects', ['x', null]],
    ['two of the same', [READY, { ...READY, status: 'Unknown' }]],
  ])('with %s for conditions is one of ours', (_, conditions) => {
    const said = projection({ observedGeneration: 3, conditions })
    const next = withStatus(said, BAD, NOW)
    expect(next?.status?.conditions).toMatchObject([{ type: 'Ready', reason: 'SourceNotFound' }])
  })
})
