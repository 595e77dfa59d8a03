import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { command, succeed } from '../control-plane/command.ts'

/** Makes sure that `python3 -m venv` works, after installing from Debian what is missing. Throws what to do where it cannot. */
export async function requirePython(): Promise<void> {
  if (await makesVenvs()) return
  if (process.getuid?.() !== 0) throw new Error('as root: apt-get install python3-venv')
  const env = { DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_SUSPEND: '1' }
  const options = ['-o', 'DPkg::Lock::Timeout=300', '-qq', '-y']
  await succeed('apt-get', [...options, 'update'], { env })
  await succeed('apt-get', [...options, 'install', '--no-install-recommends', 'python3-venv'], { env })
  if (!(await makesVenvs()))
    throw new Error('python3-venv is installed, and python3 -m venv fails all the same')
}

/** Debian's python3 has the module `venv`, and not what it needs: only trying it says so. */
async function makesVenvs(): Promise<boolean> {
  const folder = join(tmpdir(), `mintonce-venv.${process.pid}`)
  const tried = await command('python3', ['-m', 'venv', folder]).catch(() => undefined)
  await rm(folder, { recursive: true, force: true })
  return tried?.code === 0
}
