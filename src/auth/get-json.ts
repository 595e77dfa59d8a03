import type { Get } from '../core/http.ts'
import { fromUtf8 } from '../core/text.ts'

export type FetchedJson =
  | { readonly ok: true; readonly value: unknown }
  /** `why` is in our own words or a runtime's error code: never what the other side wrote. */
  | { readonly ok: false; readonly why: string }

/** A key set of a large provider has some tens of keys of under 2 KiB. */
const MAX_BYTES = 256 * 1024

/** What is at an address, whoever answers there. */
export async function getJson(get: Get, url: string, signal: AbortSignal): Promise<FetchedJson> {
  try {
    const { status, bytes } = await get(url, { signal, maxBytes: MAX_BYTES })
    if (status !== 200) return { ok: false, why: `answered ${status}` }
    if (bytes === undefined) return { ok: false, why: `answered more than ${MAX_BYTES} bytes` }
    return parsed(fromUtf8(bytes))
  } catch (error) {
    return { ok: false, why: wordFor(error) }
  }
}

function parsed(text: string | undefined): FetchedJson {
  try {
    if (text !== undefined) return { ok: true, value: JSON.parse(text) }
  } catch {
    // Said below, without the text that the error would quote.
  }
  return { ok: false, why: 'answered no JSON' }
}

const CODE = /^[A-Z][A-Z0-9_]+$/

/** `ENOTFOUND`, `CERT_HAS_EXPIRED`, … where the runtime has one, or else the kind of error. */
function wordFor(error: unknown): string {
  if (!(error instanceof Error)) return 'failed'
  for (const candidate of [error, error.cause]) {
    if (!(candidate instanceof Error) || !('code' in candidate)) continue
    if (typeof candidate.code === 'string' && CODE.test(candidate.code)) return candidate.code
  }
  return error.name
}
