import { expect, test } from 'vitest'
import { fail, ok } from '../../src/core/result.ts'
import { admitCreate } from '../../src/credentials/admit-create.ts'
import type { AdmissionServices } from '../../src/credentials/admit-served.ts'
import { admitUpdate } from '../../src/credentials/admit-update.ts'
import type { Review } from '../../src/credentials/verdict.ts'
import { parseRules } from '../../src/definitions/parse.ts'
import type { HelmRelease, Namespace } from '../../src/k8s/objects.ts'
import { CALLED } from '../definitions/blocks-webhook.ts'
import { definitionWith, releaseWith } from '../definitions/definition.ts'
import { scriptedKube } from '../helpers/scripted-kube.ts'

const webhook = { clientConfig: { service: { namespace: 'cozy-system', name: 'accounts' } } }
const users = { kind: 'ValuesMap', path: 'users' }
const knowing = { format: { name: 'sha256' }, accounts: [users, { kind: 'Webhook', webhook }] }
const hashing = { format: { kind: 'Webhook', name: 'ldap', webhook }, accounts: [users] }

const LABELS = {
  'apps.cozystack.io/application.group': 'apps.cozystack.io',
  'apps.cozystack.io/application.kind': 'Postgres',
  'apps.cozystack.io/application.name': 'orders',
}
const release = (values: object): HelmRelease => {
  const { metadata, spec } = releaseWith(values)
  return { metadata: { ...metadata, labels: LABELS }, spec }
}

/** Admission of a kind with a webhook that does not answer, of a release that is stored or not. */
function admission(block: object, stored: HelmRelease | undefined) {
  const rules = parseRules(definitionWith(block), CALLED)
  const definitions = { kinds: ['Postgres'], rulesFor: () => rules, secretsOf: () => undefined }
  const { kube, called } = scriptedKube({
    getNamespace: async () => ok({ metadata: { name: 'tenant-acme', uid: 'n' } } as Namespace),
    getHelmRelease: async () => ok(stored),
    getSecret: async () => ok(undefined),
    createSecret: async () => fail({ reason: 'kube_exists' }),
  })
  const services: AdmissionServices = {
    kube,
    definitions: {
      load: async () => ok(definitions),
      read: async () => ok(definitions),
      atHand: () => definitions,
    },
    deps: { now: () => 0, randomBytes: (length) => new Uint8Array(length), log: () => undefined },
  }
  return { services, called }
}

const asked: Omit<Review, 'operation' | 'object' | 'oldObject'> = {
  namespace: 'tenant-acme',
  name: 'postgres-orders',
  dryRun: false,
  by: 'jane@example.org',
}
const options = { by: 'jane@example.org', dryRun: false }
const object = release({ users: { web: {}, app: {} } })
const oldObject = release({ users: { web: {} } })
const failed = (field: string) => ({
  is: 'refused',
  refusal: {
    is: 'failed',
    failure: { reason: 'webhook_failed', definition: 'postgres', field: `spec.credentials.${field}` },
  },
})

test.each([
  ['knows the accounts', knowing, 'accounts[1].webhook'],
  ['hashes', hashing, 'format.webhook'],
])('a create is refused when a webhook that %s fails, and no Secret is written', async (_, block, field) => {
  const { services, called } = admission(block, undefined)
  const review: Review = { ...asked, operation: 'CREATE', object, oldObject: undefined }
  expect(await admitCreate(services, review, options)).toMatchObject(failed(field))
  expect(called()).not.toContain('createSecret')
})

test.each([
  ['knows the accounts', knowing, 'accounts[1].webhook'],
  ['hashes', hashing, 'format.webhook'],
])('an update is refused when a webhook that %s fails, and no Secret is written', async (_, block, field) => {
  const { services, called } = admission(block, oldObject)
  const review: Review = { ...asked, operation: 'UPDATE', object, oldObject }
  expect(await admitUpdate(services, review, options)).toMatchObject(failed(field))
  expect(called()).not.toContain('createSecret')
})
