import type { Fetch } from '../core/deps.ts'
import { createHttpsClient } from './node-https.ts'

/** A fetch to an issuer of tokens that trusts its CA (PEM), or the public ones when it has none of its own. */
export const createIssuerFetch = (certificateAuthority: string | undefined): Fetch =>
  createHttpsClient(undefined, certificateAuthority === undefined ? {} : { ca: certificateAuthority }).fetch
