import { readFileSync } from 'node:fs'

/**
 * A mounted file as UTF-8. At once: what the kubelet mounts is small and in memory, and another thread, or `node:fs/promises`, would
 * cost a start more than the read (docs/adr/0005-cold-start.md). A mount that hangs stops the process, which the kubelet notices.
 * Rejects as `readFileSync` throws, with a `code`.
 */
export const readText = async (path: string): Promise<string> => readFileSync(path, 'utf8')
