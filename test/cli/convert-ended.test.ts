import { expect, test } from 'vitest'
import type { ConvertCommand } from '../../src/cli/convert-command-line.ts'
import { convertHook, wordsOfInterrupted } from '../../src/cli/convert-hook.ts'
import { fail } from '../../src/core/result.ts'
import { fileDefinitions, PLATFORM } from '../conversion/hook-place.ts'

const COMMAND: ConvertCommand = {
  part: 'hook',
  cluster: undefined,
  definitions: ['all.yaml'],
  platformNamespace: PLATFORM,
  namespace: undefined,
  dryRun: false,
  output: 'table',
  concurrency: 4,
  deadlineSeconds: 60,
}

type Parts = Parameters<typeof convertHook>[0]

/** The command with an API server that never answers what is asked first; `ends`: because the process is told to end. */
async function run(ends: boolean) {
  const ending = new AbortController()
  const said: string[] = []
  const kube: Partial<Parts['kube']> = {
    listDefinitions: async () => {
      if (ends) ending.abort()
      return fail({ reason: 'kube_timeout', call: 'list ApplicationDefinitions' })
    },
  }
  const parts: Partial<Parts> = {
    config: { webhookHosts: [], kubeTimeoutMs: 5000 },
    kube: kube as Parts['kube'],
    readDocuments: async () =>
      fileDefinitions('Postgres').map(({ definition }) => ({ kind: 'ApplicationDefinition', ...definition })),
    signal: ending.signal,
    output: { log: () => {}, progress: () => {}, report: () => {}, complain: (text) => void said.push(text) },
  }
  return { code: await convertHook(parts as Parts, COMMAND), said }
}

test('a hook that is told to end in its first call says so, and not that the call failed', async () => {
  const words = 'interrupted before any release was looked at: run it again'
  expect(await run(true)).toEqual({ code: 1, said: [words] })
  expect(wordsOfInterrupted({ releases: [], total: 0 })).toBe(words)
})

test('a call that fails by itself is said to have failed', async () => {
  const { code, said } = await run(false)
  expect({ code, said }).toEqual({ code: 1, said: [expect.stringContaining('kube_timeout')] })
})
