import { createTenant, type Tenant } from '../../test/contract/tenant.ts'
import type { BareMint } from '../bare-calls.ts'
import { type BareSend, createBareClient } from '../bare-client.ts'
import type { FunctionProcess } from './context.ts'

const GROUP = 'core.cozystack.io'
/** A record keeps ten operations: Secrets have all of them before anything is measured. */
const HISTORY = 10

/** Somebody who mints, by calls that cost as little as they can. */
export interface MintCaller {
  readonly tenant: Tenant
  /** Answers the password. */
  readonly mint: (credential: string) => Promise<string>
  /** Mints until the record is as long as it gets. */
  readonly fill: (credential: string) => Promise<void>
  readonly get: BareSend
  /** The same calls made raw. */
  readonly rawOf: (credential: string) => Pick<BareMint, 'namespace' | 'release' | 'credential' | 'group'>
}

/** A tenant's administrator, who shows the token of a ServiceAccount. */
export async function createCaller(of: FunctionProcess): Promise<MintCaller> {
  const tenant = await createTenant(of.backend)
  return callerIn(of, tenant, tenant.tokens.admin)
}

/** Somebody else in that tenant. */
export function callerIn({ entry }: FunctionProcess, tenant: Tenant, token: string): MintCaller {
  const send = createBareClient({ url: `http://127.0.0.1:${entry.port}`, token })
  const mint = async (credential: string): Promise<string> => {
    const { status } = await send('POST', tenant.path(credential, 'mint'))
    return status.password
  }
  return {
    tenant,
    mint,
    fill: async (credential) => {
      for (let times = 0; times < HISTORY; times += 1) await mint(credential)
    },
    get: send,
    rawOf: (credential) => ({
      namespace: tenant.namespace,
      release: credential.split('.')[0] ?? '',
      credential,
      group: GROUP,
    }),
  }
}

/** Whoever administers a tenant may do everything there. */
export const administrator = (namespace: string) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name: 'bench', namespace },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ kind: 'ServiceAccount', name: 'admin', namespace }],
})

/** Whoever has a token of the issuer with this group may mint. */
export const people = (namespace: string) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name: 'bench-jwt', namespace },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'mintonce:mint' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'oidc:dba' }],
})
