import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import theWorker from '../../src/worker.ts'
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

test('a KUBE_TOKEN that no header can hold is a mistake in the settings, and is not repeated', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  onTestFinished(() => logged.mockRestore())
  const asked = vi.fn()
  const env = { KUBE: { fetch: asked }, KUBE_TOKEN: 'c3RvcmVk\nc3RvcmVk' }
  const context = { waitUntil: () => undefined }
  const answer = await theWorker.fetch(new Request('https://mintonce.test/readyz'), env, context)
  expect(answer.status).toBe(500)
  expect(logged.mock.calls.flat().map((line) => JSON.parse(line))).toEqual([
    {
      level: 'error',
      event: 'misconfigured',
      message: 'bad configuration:\n  KUBE_TOKEN: is none that a header can hold',
    },
  ])
  expect(asked).not.toHaveBeenCalled()
})
