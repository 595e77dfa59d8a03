import type { Log, LogLevel } from './deps.ts'

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** One JSON line an event, from `level` up. */
export function createLog(level: LogLevel, now: () => number, write: (line: string) => void): Log {
  const from = ORDER.indexOf(level)
  return (at, event, fields) => {
    if (ORDER.indexOf(at) < from) return
    // biome-ignore lint/style/noRestrictedGlobals: formats a given time, reads no clock
    write(JSON.stringify({ time: new Date(now()).toISOString(), level: at, event, ...fields }))
  }
}
