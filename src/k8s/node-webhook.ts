import { type LookupAddress, type LookupOptions, lookup } from 'node:dns'
import { BlockList, isIPv6, type LookupFunction } from 'node:net'
import { createHttpsClient, type HttpsClient } from './node-https.ts'

interface Server {
  /** Who must answer, by the certificate. */
  readonly host: string
  /** PEM. Undefined: the authorities that Node trusts. */
  readonly ca: string | undefined
  /** Whether the name may lead to this machine or to its link. */
  readonly mayBeLocal: boolean
}

type Resolve = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** Loopback, link-local, multicast, unspecified, broadcast (RFC 6890) and the metadata addresses that are none of these. */
const NEVER = new BlockList()
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  NEVER.addSubnet(net, prefix, 'ipv4')
  // The same behind a translator (RFC 6052, section 2.1).
  NEVER.addSubnet(`64:ff9b::${net}`, 96 + prefix, 'ipv6')
}
for (const [net, prefix] of [
  ['::', 127],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  NEVER.addSubnet(net, prefix, 'ipv6')
}
NEVER.addAddress('100.100.100.200', 'ipv4')
NEVER.addAddress('168.63.129.16', 'ipv4')
NEVER.addAddress('fd00:ec2::254', 'ipv6')

/** Whether nothing that a definition names may be at this address. An IPv4 address in IPv6 (RFC 4291, 2.5.5.2) is one. */
export const isForbiddenAddress = (address: string): boolean => {
  const bare = address.replace(/%.*$/, '')
  return NEVER.check(bare, isIPv6(bare) ? 'ipv6' : 'ipv4')
}

/** As the system looks up, and an error of code `ADDRESS_NOT_ALLOWED` when any address of the name is forbidden. */
export const guardedLookup =
  (resolve: Resolve): LookupFunction =>
  (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, [])
      const [first] = addresses
      if (first === undefined || addresses.some(({ address }) => isForbiddenAddress(address))) {
        return done(Object.assign(new Error('refused'), { code: 'ADDRESS_NOT_ALLOWED' }), [])
      }
      return options.all ? done(null, addresses) : done(null, first.address, first.family)
    })
  }

/** A connection to one webhook. The certificate must be for its host; where that leads is checked as it is looked up. */
export const createWebhookClient = ({ host, ca, mayBeLocal }: Server): HttpsClient =>
  createHttpsClient(undefined, {
    ...(ca === undefined ? {} : { ca }),
    ...(isName(host) ? { servername: host } : {}),
    ...(mayBeLocal ? {} : { lookup: guardedLookup(lookup) }),
    rejectUnauthorized: true,
  })

/** An address is no server name (RFC 6066, section 3); Node then checks the certificate for the address. */
const isName = (host: string): boolean => !/^(\[.*\]|[\d.]+)$/.test(host)
