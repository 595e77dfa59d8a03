import { byteText } from './byte-text.ts'
import type { CertificateFacts } from './certificate-fields.ts'
import { blocksIn, toPem } from './pem.ts'
import { whyNoPem } from './pem-advice.ts'
import { hidesPrivateKey, holdsPrivateKey } from './private-key.ts'
import { certificateReader } from './x509.ts'

/** What may be published of a source's value: its certificates re-encoded, or why not. */
export interface Publishable {
  /** PEM, 64 columns, LF, a final newline: nothing but CERTIFICATE blocks, in the order of the source. */
  readonly pem: string
  readonly certificates: readonly CertificateFacts[]
}

export type Refused =
  /** It holds what somebody's reader might take for a private key. */
  | { readonly is: 'private-key' }
  /** Nothing but white space. */
  | { readonly is: 'blank' }
  /** `why`: words for a person, with what to do about it; never bytes of the value. */
  | { readonly is: 'invalid'; readonly why: string }

export type Published =
  | { readonly ok: true; readonly value: Publishable }
  | { readonly ok: false; readonly failure: Refused }

/**
 * What a Secret holds at most, all its values together (`MaxSecretSize` in `k8s.io/api/core/v1/types.go`): of the source,
 * and of what is published, which is longer when the source had longer lines.
 */
const MAX_BYTES = 1024 * 1024

const refuse = (failure: Refused): Published => ({ ok: false, failure })
const invalid = (why: string): Published => refuse({ is: 'invalid', why })

/**
 * The only place where bytes of a source become bytes to publish. They leave it as what `toPem` writes of certificates that
 * `certificateReader` knows byte for byte, so that whatever else the value holds, and however it is hidden, stays behind. A
 * private key refuses the value all the same, before anything else is looked at: it should not be there. Nor should it be in
 * a certificate itself, as an extension or a signature, where only somebody who has it can put it.
 *
 * Not looked for: a key that is encrypted, compressed or otherwise written so that nobody takes it for one.
 */
export async function publishable(value: Uint8Array): Promise<Published> {
  const text = byteText(value)
  if (holdsPrivateKey(text)) return refuse({ is: 'private-key' })
  if (value.length > MAX_BYTES) return invalid(TOO_LONG)
  if (/^(?:\u00ef\u00bb\u00bf)?[ \t\r\n\v\f]*$/.test(text)) return refuse({ is: 'blank' })
  const blocks = blocksIn(text)
  if (!blocks.ok) return invalid(blocks.why)
  return blocks.ders.length === 0 ? noBlocks(value, text) : encoded(blocks.ders)
}

const noBlocks = (value: Uint8Array, text: string): Published =>
  hidesPrivateKey(value) ? refuse({ is: 'private-key' }) : invalid(whyNoPem(text))

const TOO_LONG =
  'it is longer than the 1 MiB that a Secret holds: leave only the authorities that sign for this release'

async function encoded(ders: readonly Uint8Array[]): Promise<Published> {
  // In the bytes themselves as well: who reads a name or a comment of the certificate would find it.
  if (ders.some((der) => hidesPrivateKey(der) || holdsPrivateKey(byteText(der))))
    return refuse({ is: 'private-key' })
  const read = await certificateReader()
  const certificates: CertificateFacts[] = []
  for (const der of ders) {
    const facts = read(der)
    if (facts === undefined)
      return invalid(`block ${certificates.length + 1} is no certificate, or more than one`)
    certificates.push(facts)
  }
  const pem = toPem(ders)
  return pem.length > MAX_BYTES ? invalid(TOO_LONG) : { ok: true, value: { pem, certificates } }
}
