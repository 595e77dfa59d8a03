import { createHttpsClient } from '../../src/k8s/node-https.ts'
import { type Backend, GROUP } from '../contract/backend.ts'
import { sendLines } from '../contract/backends/send-lines.ts'
import { contractBehindProxy } from '../contract/contract.ts'
import { startAggregated } from './aggregated.ts'

contractBehindProxy('behind the aggregation layer of kube-apiserver', async (): Promise<Backend> => {
  const { plane, api, entry, stop } = await startAggregated(undefined, GROUP)
  const { fetch, close } = createHttpsClient(plane.url, { ca: plane.ca })
  return {
    call: async (path, init) => fetch(new Request(`${plane.url}${path}`, init)),
    callWithLines: sendLines(plane.url),
    joinsHeaders: false,
    admin: api.admin,
    // Of the API server's own audience: it is kube-apiserver that looks at it.
    tokenOf: (namespace, name) => plane.tokenOf(namespace, name),
    logged: entry.output,
    stored: api.stored,
    stop: async () => {
      close()
      await stop()
    },
  }
})
