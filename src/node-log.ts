/** Where lines go: standard output. */
interface Output {
  readonly write: (text: string) => unknown
}

/**
 * Writes lines when what is at hand is done, all of them at once: a write to standard output waits for whoever reads it, and
 * an answer that is ready does not wait for that. What waits is written when the process exits or throws; one that is killed, or that V8
 * ends for want of memory, loses the lines of that moment. What a mint has done is in its Secret's record by then.
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
