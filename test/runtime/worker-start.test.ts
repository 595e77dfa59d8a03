import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSandboxApiServer } from '../contract/backends/sandbox-api-server.ts'
import { workerd } from '../contract/backends/workerd.ts'

let worker: Awaited<ReturnType<typeof workerd>>
beforeAll(async () => {
  worker = await workerd(await startSandboxApiServer())
})
afterAll(() => worker.stop())

test('RUN-02: the worker loads without random numbers, timers or calls of its own, and its first request works', async () => {
  // workerd refuses those while a module loads ("Disallowed operation called within global scope").
  expect(worker.logged()).not.toMatch(/Disallowed|Uncaught/)
  expect(await (await worker.call('/livez')).text()).toBe('ok')
  expect((await worker.call('/readyz')).status).toBe(200)
  expect(worker.logged()).not.toMatch(/Disallowed|Uncaught/)
})
