import { parseTimestamp, toTimestamp } from '../core/text.ts'
import { byteText } from './byte-text.ts'
import { childrenOf, type Element, oneElement, TAG } from './der.ts'

/** What Events say about a certificate. Nothing that is written in it: that may be anybody's text. */
export interface CertificateFacts {
  readonly notBeforeMs: number
  readonly notAfterMs: number
  readonly isAuthority: boolean
}

/**
 * Undefined for what is not exactly one certificate in DER (RFC 5280, section 4.1; sections without another number are its).
 * Every field is looked at as far as its kind: OpenSSL and BoringSSL differ in what they let pass there.
 */
export function factsOf(der: Uint8Array): CertificateFacts | undefined {
  const fields = fieldsOf(der)
  const validity = partsOf(fields?.validity) ?? []
  const [notBeforeMs, notAfterMs] = validity.map(timeOf)
  if (fields === undefined || notBeforeMs === undefined || notAfterMs === undefined) return undefined
  const { isFirstVersion, issuer, subject, extensions } = fields
  if (validity.length !== 2 || !isName(issuer) || !isName(subject)) return undefined
  // The first version had no way to say it: then whoever signed for itself is one.
  const isAuthority = isFirstVersion ? isSame(issuer.encoded, subject.encoded) : saysAuthority(extensions)
  return { notBeforeMs, notAfterMs, isAuthority }
}

interface Fields {
  readonly isFirstVersion: boolean
  readonly issuer: Element
  readonly validity: Element | undefined
  readonly subject: Element
  readonly extensions: readonly Extension[]
}

/** In octets, with that of a BIT STRING: of SLH-DSA with 256 bits, which has the longest (FIPS 205, table 2). RSA has 2 KiB at most. */
const MAX_SIGNATURE = 1 + 49_856

function fieldsOf(der: Uint8Array): Fields | undefined {
  const [toBeSigned, algorithm, signature, ...others] = partsOf(oneElement(der)) ?? []
  if (!isOctets(signature) || signature.content.length > MAX_SIGNATURE || others.length > 0) return undefined
  if (!isAlgorithm(algorithm)) return undefined
  const parts = partsOf(toBeSigned) ?? []
  const version = versionOf(parts[0])
  const [serial, inner, issuer, validity, subject, key, ...rest] = version === 1 ? parts : parts.slice(1)
  // Section 4.1.1.2.
  if (serial?.tag !== TAG.integer || inner === undefined || !isSame(inner.encoded, algorithm.encoded))
    return undefined
  const extensions = extensionsOf(rest, version)
  if (issuer === undefined || subject === undefined || extensions === undefined || !isPublicKey(key))
    return undefined
  return { isFirstVersion: version === 1, issuer, validity, subject, extensions }
}

const VERSION = 0xa0
/** As INTEGER. The first is told by there being none (X.690, section 11.5). */
const VERSIONS: ReadonlyMap<string, number> = new Map([
  ['\x02\x01\x01', 2],
  ['\x02\x01\x02', 3],
])

/** Undefined for one that there is not. */
const versionOf = (first: Element | undefined): number | undefined =>
  first?.tag === VERSION ? VERSIONS.get(byteText(first.content)) : 1

/** NULL for RSA, OBJECT IDENTIFIER for a curve, SEQUENCE for what has more to say; RFC 4055, RFC 5480. */
const PARAMETERS: readonly number[] = [0x05, TAG.objectIdentifier, TAG.sequence]

const isAlgorithm = (element: Element | undefined): element is Element => {
  const [id, parameters, ...others] = partsOf(element) ?? []
  const isKnown = parameters === undefined || PARAMETERS.includes(parameters.tag)
  return id?.tag === TAG.objectIdentifier && isKnown && others.length === 0
}

/** A BIT STRING of whole octets, as keys and signatures are: X.690, section 8.6.2. `tag`: when it has another. */
const isOctets = (element: Element | undefined, tag: number = TAG.bitString): element is Element =>
  element?.tag === tag && element.content[0] === 0

function isPublicKey(element: Element | undefined): boolean {
  const [algorithm, key, ...others] = partsOf(element) ?? []
  return isAlgorithm(algorithm) && isOctets(key) && others.length === 0
}

/** DirectoryString, and what PKCS #9 and domain components have: of others OpenSSL and BoringSSL think differently. */
const STRINGS: readonly number[] = [0x0c, 0x12, 0x13, 0x14, 0x16, 0x1c, 0x1e]
const SET = 0x31

/** Section 4.1.2.4. */
const isName = (element: Element): boolean =>
  partsOf(element)?.every(
    (relative) =>
      relative.tag === SET &&
      relative.content.length > 0 &&
      childrenOf(relative)?.every(isAttribute) === true,
  ) === true

function isAttribute(element: Element): boolean {
  const [type, value, ...others] = partsOf(element) ?? []
  return (
    type?.tag === TAG.objectIdentifier &&
    value !== undefined &&
    STRINGS.includes(value.tag) &&
    others.length === 0
  )
}

/** Section 4.1.2.5: to the second, in UTC; two digits of a year are from 1950 on. */
function timeOf({ tag, content }: Element): number | undefined {
  const text = byteText(content)
  const short = tag === TAG.utcTime && /^\d{12}Z$/.test(text)
  const long = tag === TAG.generalizedTime && /^\d{14}Z$/.test(text)
  if (!short && !long) return undefined
  const full = short ? `${text < '50' ? '20' : '19'}${text}` : text
  const timestamp = full.replace(/^(....)(..)(..)(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z')
  const time = parseTimestamp(timestamp)
  // A 31st of November would be read as the 1st of December.
  return time !== undefined && toTimestamp(time) === timestamp ? time : undefined
}

interface Extension {
  readonly id: string
  /** What is in its OCTET STRING. */
  readonly value: Uint8Array
}

const UNIQUE_IDS: readonly number[] = [0x81, 0x82]
const EXTENSIONS = 0xa3

/** Sections 4.1.2.8 and 4.1.2.9: in this order, once each, and of no version before that which has them. */
function extensionsOf(
  rest: readonly Element[],
  version: number | undefined,
): readonly Extension[] | undefined {
  if (version === undefined || rest.some(({ tag }, at) => tag <= (rest[at - 1]?.tag ?? 0))) return undefined
  const [last, ...others] = rest.toReversed()
  const hasExtensions = last?.tag === EXTENSIONS
  const ids = hasExtensions ? others : rest
  const areIds = ids.every((each) => UNIQUE_IDS.some((tag) => isOctets(each, tag)))
  if (!areIds || (ids.length > 0 && version < 2)) return undefined
  if (!hasExtensions) return []
  const [list, ...behind] = childrenOf(last) ?? []
  const listed = partsOf(list) ?? []
  const extensions = listed.flatMap((element) => extensionOf(element) ?? [])
  const isWhole = listed.length > 0 && extensions.length === listed.length && behind.length === 0
  return isWhole && version === 3 ? extensions : undefined
}

function extensionOf(element: Element): Extension | undefined {
  const [id, ...rest] = partsOf(element) ?? []
  const [value, ...others] = rest[0]?.tag === TAG.boolean ? rest.slice(1) : rest
  if (id?.tag !== TAG.objectIdentifier || value?.tag !== TAG.octetString || others.length > 0)
    return undefined
  return { id: byteText(id.content), value: value.content }
}

/** 2.5.29.19 and 2.5.29.15. */
const BASIC_CONSTRAINTS = '\x55\x1d\x13'
const KEY_USAGE = '\x55\x1d\x0f'
/** Bit 5 of KeyUsage, in the first octet after that which counts unused bits. */
const KEY_CERT_SIGN = 0x04

/** Sections 4.2.1.9 and 4.2.1.3: it says that it is one, and its key is not for other uses only. */
function saysAuthority(extensions: readonly Extension[]): boolean {
  const inExtension = (wanted: string): Element | undefined => {
    const found = extensions.find(({ id }) => id === wanted)
    return found && oneElement(found.value)
  }
  const constraints = partsOf(inExtension(BASIC_CONSTRAINTS))?.[0]
  const usage = inExtension(KEY_USAGE)
  const maySign = usage === undefined || ((usage.content[1] ?? 0) & KEY_CERT_SIGN) !== 0
  return constraints?.tag === TAG.boolean && constraints.content[0] === 0xff && maySign
}

const partsOf = (element: Element | undefined): readonly Element[] | undefined =>
  element?.tag === TAG.sequence ? childrenOf(element) : undefined

export const isSame = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index])
