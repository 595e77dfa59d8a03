import { nodeProcess } from '../contract/backends/node-process.ts'
import { startSandboxApiServer } from '../contract/backends/sandbox-api-server.ts'
import { contract } from '../contract/contract.ts'

contract('as a Node process, on the sandbox', async () => nodeProcess(await startSandboxApiServer()))
