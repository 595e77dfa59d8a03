import type { Reporter, SerializedError, TestModule } from 'vitest/node'

/** Ends a run with the one line that CI reads. A function: vitest calls its default export with `new`. */
export default function tally(): Reporter {
  return {
    onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]) {
      const states = modules.flatMap((module) =>
        [...module.children.allTests()].map((test) => test.result().state),
      )
      const count = (state: string) => states.filter((each) => each === state).length
      // What breaks outside of a test, a `beforeAll` for example, is a failure too: its tests are skipped.
      const parts = modules.flatMap((module) => [module, ...module.children.allSuites()])
      const broken = parts.flatMap((part) => part.errors()).length + unhandledErrors.length
      console.log(`${count('passed')} passed, ${count('failed') + broken} failed`)
    },
  }
}
