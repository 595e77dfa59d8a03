import { readdir, readFile } from 'node:fs/promises'

/** Per second (`sysconf(_SC_CLK_TCK)`): the same on every Linux that Node runs on. */
const TICKS = 100

interface Process {
  readonly name: string
  readonly parent: number
  /** Milliseconds on a CPU, of all threads that there were. */
  readonly cpuMs: number
}

/** What a process has cost until now. */
export const cpuOf = async (pid: number): Promise<number> => (await readProcess(pid)).cpuMs

/** The same of all that this process, or what it has started, has started under a name. Throws when there is none. */
export async function cpuOfStarted(name: string): Promise<number> {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(Number)
  const found = new Map<number, Process>()
  for (const pid of pids) {
    // One that has ended meanwhile is none of ours.
    const read = await readProcess(pid).catch(() => undefined)
    if (read !== undefined) found.set(pid, read)
  }
  const isOurs = (pid: number): boolean =>
    pid === process.pid || (found.has(pid) && isOurs(found.get(pid)?.parent ?? 0))
  const named = [...found].filter(([pid, each]) => each.name === name && isOurs(pid))
  if (named.length === 0) throw new Error(`nothing that is called ${name} runs below this process`)
  return named.reduce((sum, [, { cpuMs }]) => sum + cpuMs, 0)
}

/** proc_pid_stat(5): the command, which may have spaces, and after it the parent, utime and stime. */
async function readProcess(pid: number): Promise<Process> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const end = stat.lastIndexOf(')')
  const fields = stat.slice(end + 2).split(' ')
  return {
    name: stat.slice(stat.indexOf('(') + 1, end),
    parent: Number(fields[1]),
    cpuMs: ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS,
  }
}
