/**
 * Of `node:crypto`, what Node and workerd have alike, for a type check without Node's types. workerd lacks `validToDate`,
 * says `ca` of other certificates than Node does, and writes names in another way.
 */
declare module 'node:crypto' {
  export class X509Certificate {
    /** Throws for what does not parse. */
    constructor(certificate: Uint8Array)
    /** The DER that the parser would write. */
    readonly raw: Uint8Array
  }
}
