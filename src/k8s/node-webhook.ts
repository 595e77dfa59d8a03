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
}
for (const [net, prefix] of [
  // Addresses of version 4 inside of version 6, but for the mapped ones, which are looked at as what they are: compatible
  // (RFC 4291, 2.5.5.1), translated (RFC 6052, 2.1; RFC 8215; RFC 2765), 6to4 (RFC 3056). No Service has one.
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['::ffff:0:0:0', 96],
  ['2002::', 16],
  ['fe80::', 10],
  // Site-local (RFC 3879): gone, and still routed here and there.
  ['fec0::', 10],
  // Metadata and pod identity of AWS, metadata of Google.
  ['fd00:ec2::', 32],
  ['fd20:ce::', 32],
  ['ff00::', 8],
] as const) {
  NEVER.addSubnet(net, prefix, 'ipv6')
}
NEVER.addAddress('100.100.100.200', 'ipv4')
NEVER.addAddress('168.63.129.16', 'ipv4')
// Oracle.
NEVER.addAddress('192.0.0.192', 'ipv4')

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
