import { type Size, sizeLoadedBy } from '../start-sizes.ts'
import { buildWorkerWithoutCel } from '../start-variants.ts'
import type { Finding, Row } from './row.ts'

const MOST_NODE_KB = 400
const MOST_WORKER_GZIP_KB = 150

/** The bundles that ship. The same on every machine; a goal that is missed fails nothing here. */
export const sizes: Row = {
  name: 'sizes',
  run: async ({ dist, folder }) => {
    const start = await sizeLoadedBy(dist, 'node.js')
    const whole = await sizeLoadedBy(dist, 'node.js', true)
    const worker = await sizeLoadedBy(dist, 'worker.js')
    const withoutCel = await sizeLoadedBy(folder, await buildWorkerWithoutCel(folder))
    return [
      {
        what: `Node: what a start loads, ${start.files} files`,
        ours: shown(start),
        goal: `≤ ${MOST_NODE_KB} kB`,
        isMet: start.raw <= MOST_NODE_KB * 1000,
      },
      // The goal names the bundle, so it is judged on all of it as well.
      {
        what: `Node: that and all it may load later, ${whole.files} files`,
        ours: shown(whole),
        goal: `≤ ${MOST_NODE_KB} kB`,
        isMet: whole.raw <= MOST_NODE_KB * 1000,
        stoppedBy: `what a start does not load is ${kB(whole.raw - start.raw)} kB`,
      },
      workerFinding(worker, withoutCel),
      { what: 'the same without the library for CEL', ours: shown(withoutCel) },
    ]
  },
}

function workerFinding(worker: Size, withoutCel: Size): Finding {
  const isMet = worker.gzipped <= MOST_WORKER_GZIP_KB * 1000
  return {
    what: 'worker, one file with everything',
    ours: shown(worker),
    goal: `≤ ${MOST_WORKER_GZIP_KB} kB gzip`,
    isMet,
    ...(isMet
      ? {}
      : {
          stoppedBy: `CEL for the source \`Expression\` is ${kB(worker.gzipped - withoutCel.gzipped)} kB of it, gzip`,
        }),
  }
}

const shown = ({ raw, gzipped }: Size) => `${kB(raw)} kB, ${kB(gzipped)} kB gzip`

const kB = (bytes: number) => (bytes / 1000).toFixed(1)
