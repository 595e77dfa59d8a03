import { isDnsSubdomain } from '../k8s/names.ts'
import { targetName } from './target.ts'

/** Where an operator leaves the CA of what it runs. */
export interface NameRule {
  /** Name of the Secret; `{release}`, once in it, stands for that of the HelmRelease. */
  readonly source: string
  readonly key: string
}

/** By application kind. */
export type AnchorNames = ReadonlyMap<string, NameRule>

/** Of a key that is not said. */
export const DEFAULT_KEY = 'ca.crt'

const RELEASE = '{release}'
/** The second is what is published. */
const NO_SOURCES: ReadonlySet<string> = new Set([RELEASE, targetName(RELEASE)])
/** `k8s.io/apimachinery/pkg/util/validation`, IsConfigMapKey. */
const DATA_KEY = /^[-._a-zA-Z0-9]{1,253}$/

/** Whether a Secret can have a key of this name. */
export const isDataKey = (key: string): boolean => DATA_KEY.test(key)

/** Undefined for what is no rule. */
export function nameRuleOf(source: unknown, key: unknown = DEFAULT_KEY): NameRule | undefined {
  if (typeof source !== 'string' || typeof key !== 'string' || !isDataKey(key)) return undefined
  const parts = source.split(RELEASE)
  // Without a release in it one Secret would be that of all, and with nothing else every Secret that of some release.
  const isPattern = parts.length === 2 && !NO_SOURCES.has(source) && isDnsSubdomain(parts.join('x'))
  return isPattern ? { source, key } : undefined
}

/** The Secret of a release. */
export const sourceFor = ({ source }: NameRule, release: string): string =>
  source.replace(RELEASE, () => release)

/** The release whose Secret has this name; undefined when the name does not fit. */
export function releaseFor({ source }: NameRule, secret: string): string | undefined {
  const [before = '', after = ''] = source.split(RELEASE)
  const fits =
    secret.startsWith(before) && secret.endsWith(after) && secret.length > before.length + after.length
  const release = fits ? secret.slice(before.length, secret.length - after.length) : ''
  return isDnsSubdomain(release) ? release : undefined
}

/**
 * What `default` stands for: where the operators that the platform's charts use leave a CA, each instance being called
 * as its release. None where the operator makes no CA and leaves it to the chart (ClickHouse, RabbitMQ): a row of one's own says
 * what the chart calls it.
 */
export const DEFAULT_NAMES: AnchorNames = new Map<string, NameRule>([
  // CloudNativePG: `cloudnative-pg/cloudnative-pg`, api/v1/cluster_funcs.go, GetServerCASecretName.
  ['Postgres', { source: '{release}-ca', key: DEFAULT_KEY }],
  // Of the server and its clients, old and new while one is renewed, whoever issued them:
  // `mariadb-operator/mariadb-operator`, api/v1alpha1/mariadb_keys.go, TLSCABundleSecretKeyRef.
  ['MariaDB', { source: '{release}-ca-bundle', key: DEFAULT_KEY }],
  // Beside the server's own certificate and key, with cert-manager or without it; old and new while one is renewed:
  // `percona/percona-server-mongodb-operator`, pkg/controller/perconaservermongodb/ssl.go, mergeNewCA.
  ['MongoDB', { source: '{release}-ssl', key: DEFAULT_KEY }],
  // `strimzi/strimzi-kafka-operator`, KafkaResources.clusterCaCertificateSecretName. The CA of clients is another.
  ['Kafka', { source: '{release}-cluster-ca-cert', key: DEFAULT_KEY }],
])
