import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { certificatesIn } from '../../src/core/pem.ts'

let folder: string
let certificate: string
let key: string
let der: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mintonce-pem.'))
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
  const run = promisify(execFile)
  await run('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-noenc',
    '-subj',
    '/CN=test',
    '-out',
    certFile,
    '-keyout',
    keyFile,
  ])
  certificate = await readFile(certFile, 'utf8')
  key = await readFile(keyFile, 'utf8')
  const { stdout } = await run('openssl', ['x509', '-in', certFile, '-outform', 'der'], {
    encoding: 'buffer',
  })
  der = stdout.toString('base64')
})
afterAll(() => rm(folder, { recursive: true }))

test('certificates come as the DER that openssl makes of them, in order, text around them or not', () => {
  expect(certificatesIn(certificate)).toEqual([der])
  expect(
    certificatesIn(
      `# the old one\n${certificate}\n# and the new one\r\n${certificate.replaceAll('\n', '\r\n')}`,
    ),
  ).toEqual([der, der])
})

test('anything but certificates is refused as a whole', () => {
  expect(certificatesIn('')).toBeUndefined()
  expect(certificatesIn('no PEM')).toBeUndefined()
  expect(certificatesIn(key)).toBeUndefined()
  expect(certificatesIn(certificate + key)).toBeUndefined()
  expect(certificatesIn(`${certificate}-----BEGIN CERTIFICATE-----\nMIIB`)).toBeUndefined()
  expect(certificatesIn(certificate.replace(/\n[A-Za-z0-9+/]/, '\n*'))).toBeUndefined()
  expect(certificatesIn('-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n')).toBeUndefined()
})
