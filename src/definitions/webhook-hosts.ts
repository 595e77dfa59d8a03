/** Which hosts a definition may name: exact names, and suffixes that begin with a dot. */
export type WebhookHosts = readonly string[]

/** Services of the cluster, and nothing else. */
export const CLUSTER_SERVICES: WebhookHosts = ['.svc']

/**
 * Names of this machine, and those under which clouds hand credentials to whoever asks (Google, AWS, Alibaba, Azure,
 * Oracle): a suffix never covers one.
 */
const LOCAL_NAME =
  /(^|\.)(localhost|localdomain|local)$|^ip6-(localhost|loopback)$|(^|\.)metadata(\.|$)|(^|\.)instance-data(\.|$)/
/** As a URL writes them: an address of version 4 in whatever spelling comes out in four decimals, one of version 6 in brackets. */
const ADDRESS = /^(\d+(\.\d+){3}|\[.*\])$/

/** The host of a URL without the dot at its end, which names the same host. */
export const plainHost = (hostname: string): string => hostname.toLowerCase().replace(/\.$/, '')

/** Whether the configuration names this very host: then it may also be an address, or lead to this machine. */
export const isListed = (host: string, hosts: WebhookHosts): boolean =>
  hosts.some((each) => !each.startsWith('.') && each === host)

/**
 * What is wrong with a host that a definition names; undefined when nothing is. It decides over names only: where a
 * name leads is looked at when it is looked up.
 */
export function hostProblem(host: string, hosts: WebhookHosts): string | undefined {
  if (isListed(host, hosts)) return undefined
  if (ADDRESS.test(host)) return 'must be a name: an address has to be in MINTONCE_WEBHOOK_HOSTS itself'
  if (LOCAL_NAME.test(host)) {
    return 'names this machine or a metadata service: such a name has to be in MINTONCE_WEBHOOK_HOSTS itself'
  }
  const covered = hosts.some((each) => each.startsWith('.') && host.endsWith(each) && host !== each)
  return covered ? undefined : `is not among the hosts that may be called: ${hosts.join(', ')}`
}
