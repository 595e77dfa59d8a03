import { describe, expect, test } from 'vitest'
import { readableBy } from '../../src/conversion/tenant-readable.ts'
import type { Role } from '../../src/k8s/conversion-kube.ts'
import type { HelmRelease, StoredSecret } from '../../src/k8s/objects.ts'
import { releaseOf } from '../contract/tenant.ts'

const NAME = 'postgres-orders-credentials'
const release = releaseOf('Postgres', 'orders', {}) as HelmRelease

const secret = (labels: Readonly<Record<string, string>> = {}): StoredSecret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: NAME, namespace: 'tenant-acme', uid: 'u', resourceVersion: '1', labels },
})

const definition = (include: readonly object[], exclude: readonly object[] = []) => ({
  metadata: { name: 'postgres' },
  spec: { application: { kind: 'Postgres' }, secrets: { include, exclude } },
})

const role = (rule: object): Role => ({ metadata: { name: 'tenants' }, rules: [rule] })
const reads = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] }

describe('a Secret from before can be read by tenants', () => {
  test('by the label of the platform', () => {
    const labelled = secret({ 'internal.cozystack.io/tenantresource': 'true' })
    expect(readableBy(labelled, release, { definitions: [], roles: [] })).toMatch(/has the label/)
  })

  test.each([
    ['its name', [{ resourceNames: ['postgres-{{ .name }}-credentials'] }]],
    [
      'its name, by what a template makes of it',
      [{ resourceNames: ['{{ .kind }}-{{ .name }}-credentials'] }],
    ],
    ['a label', [{ matchLabels: { tier: 'a' } }]],
    ['a template that nobody here can fill in', [{ resourceNames: ['{{ index .x 0 }}'] }]],
    ['everything', [{}]],
  ])('by a definition that selects %s', (_what, include) => {
    const routes = { definitions: [definition(include)], roles: [] }
    expect(readableBy(secret({ tier: 'a' }), release, routes)).toBe('definition postgres selects it')
  })

  test.each([
    ['', reads],
    ['any group', { ...reads, apiGroups: ['*'] }],
    ['any resource', { ...reads, resources: ['*'] }],
    ['whatever it may do with it', { ...reads, verbs: ['delete'] }],
  ])('by a Role that names it %s', (_what, rule) => {
    const routes = { definitions: [], roles: [role({ ...rule, resourceNames: ['other', NAME] })] }
    expect(readableBy(secret(), release, routes)).toBe('Role tenants names it')
  })
})

describe('it can not', () => {
  test.each([
    ['when no route is there', [], []],
    [
      'when a definition selects another',
      [definition([{ resourceNames: ['postgres-other-credentials'] }])],
      [],
    ],
    [
      'when a definition excludes it',
      [definition([{}], [{ resourceNames: ['postgres-{{ .name }}-credentials'] }])],
      [],
    ],
    ['when a Role names another', [], [role({ ...reads, resourceNames: ['other'] })]],
    [
      'when a Role names something else of that name',
      [],
      [role({ ...reads, resources: ['pods'], resourceNames: [NAME] })],
    ],
    ['when a Role is of all Secrets: no tenant has it', [], [role(reads)]],
    ['when the rules of a Role are none', [], [{ metadata: { name: 'x' }, rules: 'x' }]],
  ])('%s', (_what, definitions, roles) => {
    expect(readableBy(secret(), release, { definitions, roles })).toBeUndefined()
  })
})
