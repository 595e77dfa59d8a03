import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type StartApi, startApi } from '../../bench/start-api.ts'
import { mintBare, startNothing, startToLivez, startToMint } from '../../bench/start-scenarios.ts'
import { buildBare } from '../../bench/start-variants.ts'
import { scramAccepts } from '../../src/cli/verifier.ts'
import { ROOT } from '../cli/command.ts'

/** Figures of something that was never done would be good ones. */
describe('what the bench of cold starts measures', { timeout: 30_000 }, () => {
  const entry = { args: [join(ROOT, 'src/node.ts')] }
  let folder: string
  let api: StartApi
  let bare: { readonly args: readonly string[] }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mintonce-bench.'))
    bare = { args: [await buildBare(folder)] }
    api = await startApi()
    // From here on there is an account.
    await startToMint(api, entry)
  }, 30_000)
  afterAll(async () => {
    await api?.stop()
    await rm(folder, { recursive: true })
  })

  const callsOf = async (work: () => Promise<unknown>) => {
    const before = api.calls.length
    await work()
    return api.calls.slice(before).sort()
  }

  test.each([
    ['over HTTP', false],
    ['over HTTPS', true],
  ])('is a mint that the cluster has a verifier of, bare and by the function, %s', async (_, secure) => {
    const byFunction = await startToMint(api, { ...entry, secure })
    expect(byFunction.password).toMatch(/^\w{32}$/)
    expect(scramAccepts(await api.readStored(), byFunction.password)).toBe(true)
    const byScript = await mintBare(api, { ...bare, secure })
    expect(byScript.password).not.toBe(byFunction.password)
    expect(scramAccepts(await api.readStored(), byScript.password)).toBe(true)
  })

  test('is the same calls, but for the event after the answer', async () => {
    const ours = await callsOf(() => startToMint(api, entry))
    const theirs = await callsOf(() => mintBare(api, bare))
    expect(theirs).toHaveLength(6)
    expect(ours.filter((call) => !call.endsWith('/events'))).toEqual(theirs)
  })

  test('has CPU time and memory, and those of Node alone are in those of the function', async () => {
    const [nothing, ours] = [await startNothing(), await startToLivez(api, entry)]
    expect(nothing.cpuMs).toBeGreaterThan(0)
    expect(ours.cpuMs).toBeGreaterThan(nothing.cpuMs)
    expect(ours.residentMiB).toBeGreaterThan(nothing.residentMiB)
  })
})
