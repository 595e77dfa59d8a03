import type { Get } from '../core/http.ts'
import { createHttpsClient } from './node-https.ts'
import { openAnswer } from './node-send.ts'

/** The way to an issuer of tokens that trusts its CA (PEM), or the public ones when it has none of its own. */
export function createIssuerGet(certificateAuthority: string | undefined): Get {
  const client = createHttpsClient(
    undefined,
    certificateAuthority === undefined ? {} : { ca: certificateAuthority },
  )
  return async (url, options) => {
    const headers = { accept: 'application/json' }
    const answer = await openAnswer(client, { method: 'GET', path: url, headers, ...options }, {})
    if (answer.status === 200) return answer.read()
    answer.drop()
    return { status: answer.status, bytes: undefined }
  }
}
