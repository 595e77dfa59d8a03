import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { command } from './command.ts'

export interface KeyPair {
  readonly certFile: string
  readonly keyFile: string
}

export interface Certificates {
  readonly authority: KeyPair
  /** Signs the API server's own client certificate towards aggregated API servers, and nothing else. */
  readonly frontProxyAuthority: Authority
  readonly frontProxyClient: KeyPair
  readonly apiServer: KeyPair
  readonly admin: KeyPair
  readonly controllerManager: KeyPair
  readonly serviceAccountKeyFile: string
  readonly clientFor: Authority['clientFor']
  readonly serverFor: Authority['serverFor']
}

const VALID_DAYS = '2'
const EMPTY_CONFIG = '[req]\ndistinguished_name = none\n[none]\n'
const API_SERVER_HOSTS = ['localhost', '127.0.0.1', 'kubernetes.default.svc', 'kubernetes']

/** Somebody who signs certificates. */
export interface Authority extends KeyPair {
  readonly clientFor: (user: string, groups?: readonly string[]) => Promise<KeyPair>
  readonly serverFor: (hosts: readonly string[]) => Promise<KeyPair>
}

/** Everything that a control plane needs to trust itself, as files in `folder`. */
export async function createCertificates(folder: string): Promise<Certificates> {
  const authority = await createAuthority(folder, 'ca')
  const frontProxyAuthority = await createAuthority(folder, 'front-proxy-ca')
  return {
    authority,
    frontProxyAuthority,
    frontProxyClient: await frontProxyAuthority.clientFor('front-proxy-client'),
    apiServer: await authority.serverFor(API_SERVER_HOSTS),
    admin: await authority.clientFor('admin', ['system:masters']),
    controllerManager: await authority.clientFor('system:kube-controller-manager'),
    serviceAccountKeyFile: await createServiceAccountKey(folder),
    clientFor: authority.clientFor,
    serverFor: authority.serverFor,
  }
}

/** An authority of this name, with files of this name in `folder`. Without a signer it signs itself. */
export async function createAuthority(folder: string, name: string, signer?: KeyPair): Promise<Authority> {
  await writeFile(join(folder, 'openssl.cnf'), EMPTY_CONFIG)
  const usage = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign']
  const pair = await issue(folder, name, subjectOf(`mintonce test ${name}`, []), usage, signer)
  let issued = 0
  return {
    ...pair,
    clientFor: (user, groups = []) =>
      issue(folder, `${name}-${++issued}`, subjectOf(user, groups), ['extendedKeyUsage=clientAuth'], pair),
    serverFor: (hosts) => {
      const extensions = ['extendedKeyUsage=serverAuth', alternatives(hosts)]
      return issue(folder, `${name}-${++issued}`, subjectOf(hosts[0] ?? '', []), extensions, pair)
    },
  }
}

/** RSA, as nearly every real cluster signs its service account tokens. */
async function createServiceAccountKey(folder: string): Promise<string> {
  const keyFile = join(folder, 'service-account.key')
  await openssl(['genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048', '-out', keyFile])
  return keyFile
}

/** Without a signer the certificate signs itself. */
async function issue(
  folder: string,
  name: string,
  subject: string,
  extensions: readonly string[],
  signer?: KeyPair,
): Promise<KeyPair> {
  const pair = { certFile: join(folder, `${name}.crt`), keyFile: join(folder, `${name}.key`) }
  const request = ['req', '-x509', '-config', join(folder, 'openssl.cnf'), '-utf8', '-subj', subject]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc']
  const signing = signer ? ['-CA', signer.certFile, '-CAkey', signer.keyFile] : []
  const added = extensions.flatMap((extension) => ['-addext', extension])
  const out = ['-days', VALID_DAYS, '-out', pair.certFile, '-keyout', pair.keyFile]
  await openssl([...request, ...key, ...signing, ...added, ...out])
  await access(pair.certFile)
  return pair
}

function subjectOf(user: string, groups: readonly string[]): string {
  const escaped = (value: string) => value.replaceAll(/[\\/+]/g, '\\$&')
  return [...groups.map((group) => `/O=${escaped(group)}`), `/CN=${escaped(user)}`].join('')
}

function alternatives(hosts: readonly string[]): string {
  const names = hosts.map((host) => (/^[\d.]+$/.test(host) ? `IP:${host}` : `DNS:${host}`))
  return `subjectAltName=${names.join(',')}`
}

async function openssl(args: readonly string[]): Promise<void> {
  const needed = 'OpenSSL 3 or newer is needed to make certificates'
  const { code, stderr } = await command('openssl', args).catch((error: unknown) => {
    throw new Error(`${needed}: \`openssl\` cannot be run`, { cause: error })
  })
  if (code !== 0) throw new Error(`${needed}: openssl ${args.join(' ')}: ${stderr.trim()}`)
}
