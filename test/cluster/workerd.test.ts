import { startRealApiServer } from '../contract/backends/real-api-server.ts'
import { workerd } from '../contract/backends/workerd.ts'
import { contract } from '../contract/contract.ts'

contract('in workerd, on kube-apiserver', async () => workerd(await startRealApiServer()))
