/** Where lines go: standard output. */
interface Output {
  readonly write: (text: string) => unknown
}

/**
 * Writes lines when what is at hand is done, all of them at once: a write to standard output waits for whoever reads it, and
 * an answer that is ready does not wait for that. Nothing is lost when the process ends by itself, or by an error.
 */
export function createLineWriter(output: Output): (line: string) => void {
  let waiting = ''
  const flush = () => {
    const text = waiting
    waiting = ''
    if (text !== '') output.write(text)
  }
  process.on('exit', flush)
  return (line) => {
    if (waiting === '') setImmediate(flush)
    waiting += `${line}\n`
  }
}
