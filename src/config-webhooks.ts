import { CLUSTER_SERVICES, type WebhookHosts } from './definitions/webhook-hosts.ts'

export const WEBHOOK_VARIABLES = ['MINTONCE_WEBHOOK_HOSTS'] as const

type Env = Readonly<Record<string, string | undefined>>

const NAME = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
/** A name, a suffix of names, or an address as a URL writes it. */
const HOST = new RegExp(`^(\\.?${NAME}(\\.${NAME})*|\\[[0-9a-f:.]+\\])$`)

/** Adds to the problems, by variable. */
export function readWebhookHosts(env: Env, problems: string[]): WebhookHosts {
  const hosts = (env.MINTONCE_WEBHOOK_HOSTS || CLUSTER_SERVICES.join(','))
    .split(',')
    .map((host) => host.trim().toLowerCase())
    .filter((host) => host !== '')
  if (hosts.length > 0 && hosts.every((host) => HOST.test(host))) return hosts
  problems.push(
    'MINTONCE_WEBHOOK_HOSTS: must be host names, or suffixes of them such as .svc, separated by commas',
  )
  return CLUSTER_SERVICES
}
