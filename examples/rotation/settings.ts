import type { Given } from './rotate.ts'

export interface Settings {
  /** Up to and with the namespace. */
  readonly url: string
  readonly namespace: string
  readonly tokenFile: string
  readonly accounts: readonly [string, string]
  readonly secret: string
  readonly tryLogin: string
  readonly drained: string
  /** Whether there may be no login yet. */
  readonly isFirst: boolean
}

type Environment = Readonly<Record<string, string | undefined>>

/** Throws for what is missing or makes no sense: nothing has been done by then. */
export function readSettings(env: Environment, args: readonly string[]): Settings {
  const setting = (name: string): string => {
    const value = env[name]?.trim() ?? ''
    if (value === '') throw new Error(`${name} is not set`)
    return value
  }
  const unknown = args.find((arg) => arg !== '--first')
  if (unknown !== undefined) throw new Error(`${unknown}: there is --first, and nothing else`)
  const url = setting('MINTONCE_NAMESPACE_URL').replace(/\/$/, '')
  const [, namespace] = /^https?:\/\/[^/@]+\/apis\/[^/]+\/[^/]+\/namespaces\/([^/]+)$/.exec(url) ?? []
  if (namespace === undefined) throw new Error('MINTONCE_NAMESPACE_URL does not end with /namespaces/NAME')
  return {
    url,
    namespace,
    tokenFile: setting('MINTONCE_TOKEN_FILE'),
    accounts: readAccounts(setting('ACCOUNTS')),
    secret: setting('LOGIN_SECRET'),
    tryLogin: setting('TRY_LOGIN'),
    drained: setting('DRAINED'),
    isFirst: args.includes('--first'),
  }
}

function readAccounts(value: string): readonly [string, string] {
  const [first = '', second = '', ...more] = value.split(/\s+/)
  // One that is named twice would be minted for while it is in use.
  if (second === '' || first === second || more.length > 0) {
    throw new Error('ACCOUNTS does not name two different Credentials')
  }
  for (const name of [first, second]) {
    if (!/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(name))
      throw new Error(`ACCOUNTS: ${name} is no RELEASE.ACCOUNT`)
  }
  return [first, second]
}

/** Throws when what the application is given is not of these accounts, or when this is no first rotation, or is one. */
export function checkGiven(
  given: Given | undefined,
  { accounts, secret, isFirst }: Pick<Settings, 'accounts' | 'secret' | 'isFirst'>,
): void {
  if (given === undefined) {
    // The account that is minted for first may be the one in use.
    if (!isFirst) throw new Error(`${secret} has no login: --first when nobody uses either account`)
    return
  }
  if (isFirst) throw new Error(`${secret} has a login: this is not the first rotation`)
  const { login, former } = given
  for (const name of [login.credential, former ?? login.credential]) {
    if (!accounts.includes(name)) throw new Error(`${secret} names ${name}, which is not in ACCOUNTS`)
  }
  if (former === login.credential) throw new Error(`${secret} names ${former} twice`)
}
