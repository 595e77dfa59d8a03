import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { mint, revoke, type Version, versionOf } from './call.ts'
import { readLoginSecret } from './login-secret.ts'
import { type Outcome, rotate } from './rotate.ts'
import { checkGiven, readSettings } from './settings.ts'

const PAUSE_MS = 500

/** Runs a command of the operator's with a shell: true when it succeeds. What it prints is not ours to show. */
async function succeeds(command: string, more: Readonly<Record<string, string>> = {}): Promise<boolean> {
  const child = spawn('sh', ['-c', command], { stdio: 'ignore', env: { ...process.env, ...more } })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code === 0))
  })
}

const settings = readSettings(process.env, process.argv.slice(2))
const { url, tokenFile } = settings
const to = { url, token: async () => (await readFile(tokenFile, 'utf8')).trim() }
if ((await to.token()) === '') throw new Error('MINTONCE_TOKEN_FILE is empty')
const secret = await readLoginSecret({ namespace: settings.namespace, name: settings.secret })
const now = secret.given()
checkGiven(now, settings)

/**
 * Of two rotations at once, the one that has claimed the Secret later goes on. The other one cannot write the Secret any
 * more, nor call for an account for which this one has called.
 */
async function guarded<T>(
  credential: string,
  call: (since: Version) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  const since = await versionOf(to, credential)
  if (since.kind !== 'Stored') return since
  await secret.claim()
  return call(since.value)
}

await rotate(settings.accounts, now, {
  mint: (credential) => guarded(credential, (since) => mint(to, credential, since)),
  revoke: (credential) => guarded(credential, (since) => revoke(to, credential, since)),
  letsIn: ({ username, password }) =>
    succeeds(settings.tryLogin, { DB_USERNAME: username, DB_PASSWORD: password }),
  give: secret.give,
  drained: async () => {
    if (!(await succeeds(settings.drained)))
      throw new Error('DRAINED failed: the former login is not revoked')
  },
  pause: () => sleep(PAUSE_MS),
  say: (line) => console.log(line),
})
