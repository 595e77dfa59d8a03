import { type Size, sizeLoadedBy } from '../start-sizes.ts'
import type { Finding, Row } from './row.ts'

const MOST_NODE_KB = 400
const MOST_WORKER_GZIP_KB = 150

/** The bundles that ship. The same on every machine; a goal that is missed fails nothing here. */
export const sizes: Row = {
  name: 'sizes',
  run: async ({ dist }) => {
    const start = await sizeLoadedBy(dist, 'node.js')
    const whole = await sizeLoadedBy(dist, 'node.js', true)
    const worker = await sizeLoadedBy(dist, 'worker.js')
    return [
      {
        what: `Node: what a start loads, ${start.files} files`,
        ours: shown(start),
        goal: `≤ ${MOST_NODE_KB} kB`,
        isMet: start.raw <= MOST_NODE_KB * 1000,
      },
      { what: `Node: that and all it may load later, ${whole.files} files`, ours: shown(whole) },
      workerFinding(worker),
    ]
  },
}

function workerFinding(worker: Size): Finding {
  const isMet = worker.gzipped <= MOST_WORKER_GZIP_KB * 1000
  return {
    what: 'worker, one file with everything',
    ours: shown(worker),
    goal: `≤ ${MOST_WORKER_GZIP_KB} kB gzip`,
    isMet,
    ...(isMet ? {} : { stoppedBy: 'CEL for the source `Expression` is 71 kB of it, gzip' }),
  }
}

const shown = ({ raw, gzipped }: Size) =>
  `${(raw / 1000).toFixed(1)} kB, ${(gzipped / 1000).toFixed(1)} kB gzip`
