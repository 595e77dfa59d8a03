import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { succeed } from '../control-plane/command.ts'

/** Certificates and keys that OpenSSL makes for one run of the tests. */
export interface Made {
  /** PEM, as OpenSSL writes it. */
  readonly certificates: ReadonlyMap<string, string>
  /** PEM, in every form that OpenSSL writes. */
  readonly keys: ReadonlyMap<string, string>
  /** Runs it in a folder that goes away with `remove`. Answers its output, throws its complaint. */
  readonly openssl: (args: readonly string[], stdin?: string) => Promise<string>
  /** A file in that folder. */
  readonly write: (name: string, content: string | Uint8Array) => Promise<void>
  readonly read: (name: string) => Promise<Buffer>
  readonly remove: () => Promise<void>
}

interface Wanted {
  readonly key: keyof typeof KEYS
  readonly from?: string
  readonly until?: string
  readonly extensions: keyof typeof EXTENSIONS
  /** Itself, when it is left out. */
  readonly signer?: string
}

const KEYS = {
  rsa: ['RSA', '-pkeyopt', 'rsa_keygen_bits:2048'],
  ec: ['EC', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  ed25519: ['ED25519'],
} as const

const EXTENSIONS = {
  authority: 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign',
  leaf: 'basicConstraints=CA:FALSE\nkeyUsage=digitalSignature\nextendedKeyUsage=serverAuth',
  unsigning: 'basicConstraints=CA:TRUE\nkeyUsage=digitalSignature',
  unsaid: 'subjectKeyIdentifier=hash',
} as const

const WANTED: readonly (readonly [string, Wanted])[] = [
  ['rsa', { key: 'rsa', extensions: 'authority' }],
  ['ec', { key: 'ec', extensions: 'authority' }],
  ['ed25519', { key: 'ed25519', extensions: 'authority' }],
  ['expired', { key: 'ed25519', until: '20210101000000Z', extensions: 'authority' }],
  [
    'not yet valid',
    { key: 'ed25519', from: '20900101000000Z', until: '99991231235959Z', extensions: 'authority' },
  ],
  ['intermediate', { key: 'ec', extensions: 'authority', signer: 'rsa' }],
  ['leaf', { key: 'ed25519', extensions: 'leaf', signer: 'ec' }],
  ['self-signed leaf', { key: 'ec', extensions: 'leaf' }],
  ['authority that may not sign', { key: 'ed25519', extensions: 'unsigning' }],
  ['says nothing', { key: 'ed25519', extensions: 'unsaid' }],
]

const WRITTEN: readonly (readonly [string, readonly string[]])[] = [
  ['PKCS #1', ['rsa', '-in', 'rsa.key', '-traditional']],
  ['PKCS #1, encrypted', ['rsa', '-in', 'rsa.key', '-traditional', '-aes256', '-passout', 'pass:secret']],
  ['PKCS #8, RSA', ['pkey', '-in', 'rsa.key']],
  ['PKCS #8, EC', ['pkey', '-in', 'ec.key']],
  ['PKCS #8, Ed25519', ['pkey', '-in', 'ed25519.key']],
  ['PKCS #8, encrypted', ['pkcs8', '-topk8', '-in', 'ec.key', '-passout', 'pass:secret']],
  ['SEC 1', ['ec', '-in', 'ec.key']],
  ['SEC 1, encrypted', ['ec', '-in', 'ec.key', '-aes256', '-passout', 'pass:secret']],
]

const VERSION_1 = join(import.meta.dirname, '../vectors/x509-v1.pem')

const CONFIG = `
[ca]
default_ca = own
[own]
database = index.txt
new_certs_dir = .
rand_serial = yes
unique_subject = no
default_md = default
policy = any
[any]
commonName = supplied
[req]
distinguished_name = none
[none]
${Object.entries(EXTENSIONS)
  .map(([name, lines]) => `[${name}]\n${lines}\n`)
  .join('')}`

export async function makeCertificates(): Promise<Made> {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-certificates.'))
  await writeFile(join(folder, 'openssl.cnf'), CONFIG)
  await writeFile(join(folder, 'index.txt'), '')
  const openssl: Made['openssl'] = (args, stdin = '') => succeed('openssl', args, { cwd: folder, stdin })
  for (const [name, algorithm] of Object.entries(KEYS)) {
    await openssl(['genpkey', '-quiet', '-algorithm', ...algorithm, '-out', `${name}.key`])
  }
  // Newer releases of OpenSSL make none of these: `openssl x509 -req -signkey` of 3.0 made this one.
  const certificates = new Map([['version 1', await readFile(VERSION_1, 'utf8')]])
  for (const [name, wanted] of WANTED) {
    await issue(openssl, name, wanted)
    certificates.set(name, await readFile(join(folder, `${name}.crt`), 'utf8'))
  }
  const keys = new Map<string, string>()
  for (const [name, args] of WRITTEN) keys.set(name, await openssl(args))
  return {
    certificates,
    keys,
    openssl,
    write: (name, content) => writeFile(join(folder, name), content),
    read: (name) => readFile(join(folder, name)),
    remove: () => rm(folder, { recursive: true }),
  }
}

async function issue(openssl: Made['openssl'], name: string, wanted: Wanted): Promise<void> {
  const { key, from = '20200101000000Z', until = '20490101000000Z', extensions, signer } = wanted
  const config = ['-config', 'openssl.cnf']
  await openssl(['req', '-new', ...config, '-key', `${key}.key`, '-subj', `/CN=${name}`, '-out', 'request'])
  const signing = WANTED.find(([other]) => other === signer)?.[1].key
  const by = signing
    ? ['-cert', `${signer}.crt`, '-keyfile', `${signing}.key`]
    : ['-selfsign', '-keyfile', `${key}.key`]
  const dates = ['-startdate', from, '-enddate', until]
  const out = ['-notext', '-in', 'request', '-out', `${name}.crt`, '-extensions', extensions]
  await openssl(['ca', '-batch', ...config, ...by, ...dates, ...out])
}
