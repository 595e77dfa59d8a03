import { inProcess } from './backends/in-process.ts'
import { startSandboxApiServer } from './backends/sandbox-api-server.ts'
import { contract } from './contract.ts'

contract('in process, on the sandbox', async () => inProcess(await startSandboxApiServer()))
