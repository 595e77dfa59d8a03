import { fromBase64, toBase64 } from './text.ts'

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----/g
const BEGIN = '-----BEGIN '
const DER_SEQUENCE = 0x30

/**
 * The certificates of a PEM text (RFC 7468, section 5), each as base64 of its DER, in order. Text around the blocks is
 * passed over (section 2). Undefined when there is none, or when a block is anything else: a private key in this place
 * is a mistake that should not stay.
 */
export function certificatesIn(text: string): readonly string[] | undefined {
  const blocks = [...text.matchAll(BLOCK)]
  if (blocks.length === 0 || blocks.length < text.split(BEGIN).length - 1) return undefined
  const certificates = blocks.map(([, label, body]) =>
    label === 'CERTIFICATE' ? derOf(body ?? '') : undefined,
  )
  return certificates.every((der) => der !== undefined) ? certificates : undefined
}

function derOf(body: string): string | undefined {
  const bytes = fromBase64(body.replace(/\s/g, ''))
  return bytes?.[0] === DER_SEQUENCE ? toBase64(bytes) : undefined
}
