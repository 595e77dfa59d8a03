import { startSandboxApiServer } from '../contract/backends/sandbox-api-server.ts'
import { workerd } from '../contract/backends/workerd.ts'
import { contract } from '../contract/contract.ts'

contract('in workerd, on the sandbox', async () => workerd(await startSandboxApiServer()))
