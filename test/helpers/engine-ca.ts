import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority } from '../control-plane/certificates.ts'

/** The CA of an engine, as its operator keeps it: in PEM, the key beside the certificate. */
export interface EngineCa {
  readonly certificate: string
  readonly key: string
}

/** A new one, made by openssl. */
export async function createEngineCa(name = 'engine'): Promise<EngineCa> {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-engine-ca.'))
  try {
    const { certFile, keyFile } = await createAuthority(folder, name)
    return { certificate: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/**
 * Lines of a private key in PEM, each of which gives it away wherever it is found. Of several not the last one: of a key of
 * a curve it holds nothing but the public key (RFC 5915, section 3), which a certificate holds as well, now and then in the
 * same base64.
 */
export function bodyLinesOf(pem: string): readonly string[] {
  const lines = pem.split('\n').filter((line) => /^[A-Za-z0-9+/=]+$/.test(line))
  return lines.length > 1 ? lines.slice(0, -1) : lines
}
