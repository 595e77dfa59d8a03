import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts'

/** The moment at which the sandbox of a test begins. */
export const NOW = Date.parse('2026-10-02T09:14:07Z')

type Options = Partial<Parameters<typeof createSandbox>[0]>

/** A sandbox whose clock stands still unless a test brings another. */
export const testSandbox = (options: Options = {}): Sandbox =>
  createSandbox({
    now: () => NOW,
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    manifests: [],
    ...options,
  })
