import { spawn } from 'node:child_process'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { mint, revoke } from './call.ts'
import { type Login, rotate } from './rotate.ts'

const PAUSE_MS = 500

/** The value of a setting. Throws when it is missing: nothing has been done by then. */
function setting(name: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error(`${name} is not set`)
  return value
}

/** Runs a command of the operator's with a shell: true when it succeeds. What it prints is not ours to show. */
async function succeeds(command: string, more: Readonly<Record<string, string>> = {}): Promise<boolean> {
  const child = spawn('sh', ['-c', command], { stdio: 'ignore', env: { ...process.env, ...more } })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code === 0))
  })
}

async function readLogin(file: string): Promise<Login | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Login
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    // A parser's message would quote the file.
    throw new Error(`${file} cannot be read`)
  }
}

/** Whole or not at all, so that a reader never sees half of it. */
async function writeLogin(file: string, login: Login): Promise<void> {
  await writeFile(`${file}.next`, JSON.stringify(login), { mode: 0o600 })
  await rename(`${file}.next`, file)
}

const to = {
  url: setting('MINTONCE_NAMESPACE_URL'),
  token: async () => (await readFile(setting('MINTONCE_TOKEN_FILE'), 'utf8')).trim(),
}
const [first = '', second = '', ...others] = setting('ACCOUNTS').split(' ')
if (second === '' || others.length > 0) throw new Error('ACCOUNTS names two Credentials')
const file = setting('LOGIN_FILE')
const tryLogin = setting('TRY_LOGIN')
const drained = setting('DRAINED')

await rotate([first, second], {
  mint: (credential) => mint(to, credential),
  revoke: (credential) => revoke(to, credential),
  letsIn: ({ username, password }) => succeeds(tryLogin, { DB_USERNAME: username, DB_PASSWORD: password }),
  current: () => readLogin(file),
  switchTo: (login) => writeLogin(file, login),
  drained: async () => {
    if (!(await succeeds(drained))) throw new Error('DRAINED failed: the former login is not revoked')
  },
  pause: () => sleep(PAUSE_MS),
  say: (line) => console.log(line),
})
