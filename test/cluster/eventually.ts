/** Asks until the answer is yes. Throws when it has not been for half a minute. */
export async function eventually(what: string, ask: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!(await ask())) {
    if (performance.now() > deadline) throw new Error(`not within 30 s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
