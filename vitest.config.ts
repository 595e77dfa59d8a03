import { defineConfig } from 'vitest/config'

const project = (name: string, include: readonly string[], more: object = {}) => ({
  extends: true as const,
  test: { name, include: include.map((pattern) => `test/${pattern}.test.ts`), ...more },
})

/** What needs a control plane or engines starts them once, and runs its files one after the other. */
const REAL = { fileParallelism: false, testTimeout: 120_000, hookTimeout: 900_000 }

export default defineConfig({
  test: {
    reporters: ['default', './test/vitest/tally.ts'],
    // Much of what is tested waits: a second worker uses the time on a machine with two cores.
    maxWorkers: 2,
    projects: [
      project('unit', [
        '{core,k8s,auth,credentials,definitions,formats,handlers,sandbox,client,docs,cli,dev,kubectl,trust-anchor,conversion}/**/*',
      ]),
      project('contract', ['contract/**/*'], { testTimeout: 30_000 }),
      project('runtime', ['runtime/**/*'], { testTimeout: 60_000, hookTimeout: 60_000 }),
      project('cluster', ['cluster/**/*'], REAL),
      project('engines', ['engines/**/*'], REAL),
    ],
  },
})
