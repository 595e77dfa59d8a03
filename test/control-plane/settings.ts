import { join } from 'node:path'
import type { Certificates } from './certificates.ts'

export interface Ports {
  readonly etcd: number
  readonly etcdPeer: number
  readonly apiServer: number
}

/** As kubeadm names it. No audience of ours is among the API server's own. */
export const ISSUER = 'https://kubernetes.default.svc.cluster.local'

const CONTROLLERS = [
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
  'clusterrole-aggregation-controller',
  'root-ca-certificate-publisher-controller',
  'resourcequota-controller',
  // Without the one that makes pods of it: there is nobody to run them.
  'deployment-controller',
]

/** Bodies are recorded for our own API groups, to prove that no password is in them. */
export const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    {
      level: 'Metadata',
      resources: [
        { group: '', resources: ['secrets', 'serviceaccounts/token'] },
        { group: 'authentication.k8s.io', resources: ['tokenreviews'] },
      ],
    },
    {
      level: 'RequestResponse',
      resources: [{ group: 'core.cozystack.io' }, { group: 'credentials.cozystack.io' }],
    },
    { level: 'Metadata' },
  ],
}

export function etcdFlags(folder: string, { etcd, etcdPeer }: Ports): readonly string[] {
  const client = `http://127.0.0.1:${etcd}`
  const peer = `http://127.0.0.1:${etcdPeer}`
  return [
    '--name=test',
    `--data-dir=${join(folder, 'etcd')}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=test=${peer}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
  ]
}

export function apiServerFlags(folder: string, ports: Ports, certificates: Certificates): readonly string[] {
  const { authority, apiServer, frontProxyAuthority, frontProxyClient, serviceAccountKeyFile } = certificates
  return [
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${ports.apiServer}`,
    '--endpoint-reconciler-type=none',
    '--service-cluster-ip-range=10.0.0.0/24',
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    `--cert-dir=${folder}`,
    `--tls-cert-file=${apiServer.certFile}`,
    `--tls-private-key-file=${apiServer.keyFile}`,
    `--client-ca-file=${authority.certFile}`,
    '--authorization-mode=RBAC',
    `--service-account-key-file=${serviceAccountKeyFile}`,
    `--service-account-signing-key-file=${serviceAccountKeyFile}`,
    `--service-account-issuer=${ISSUER}`,
    `--api-audiences=${ISSUER}`,
    `--requestheader-client-ca-file=${frontProxyAuthority.certFile}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${frontProxyClient.certFile}`,
    `--proxy-client-key-file=${frontProxyClient.keyFile}`,
    `--audit-policy-file=${join(folder, 'audit-policy.json')}`,
    `--audit-log-path=${join(folder, 'audit.log')}`,
    '--profiling=false',
  ]
}

export function controllerManagerFlags(
  kubeconfig: string,
  { authority, serviceAccountKeyFile }: Certificates,
): readonly string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${CONTROLLERS.join(',')}`,
    '--leader-elect=false',
    '--use-service-account-credentials',
    `--root-ca-file=${authority.certFile}`,
    `--service-account-private-key-file=${serviceAccountKeyFile}`,
    '--bind-address=127.0.0.1',
    '--secure-port=0',
    '--profiling=false',
  ]
}
