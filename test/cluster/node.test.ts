import { nodeProcess } from '../contract/backends/node-process.ts'
import { startRealApiServer } from '../contract/backends/real-api-server.ts'
import { contract } from '../contract/contract.ts'

contract('as a Node process, on kube-apiserver', async () => nodeProcess(await startRealApiServer()))
