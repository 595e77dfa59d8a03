import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ExecTarget } from '../../src/k8s/exec-in-pod.ts'
import { createExec } from '../../src/k8s/node-exec.ts'
import { type ExecEndpoint, message, startExecEndpoint, statusMessage } from '../helpers/exec-endpoint.ts'
import { createAuthority, temporaryFolder } from './loopback.ts'

// `@kubernetes/client-node` is loaded at the first command, and takes its time on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const TARGET: ExecTarget = {
  namespace: 'tenant-acme',
  pod: 'db-0',
  container: 'mariadb',
  command: ['sh', '-c', 'x y'],
}

async function endpoint(options: Parameters<typeof startExecEndpoint>[0]): Promise<ExecEndpoint> {
  const started = await startExecEndpoint(options)
  onTestFinished(() => started.stop())
  return started
}

const exec = (
  server: string,
  more: { readonly ca?: string; readonly maxBytes?: number; readonly timeoutMs?: number } = {},
) =>
  createExec(
    {
      server,
      credentials: async () => ({
        headers: { authorization: ['Bearer job-token'] },
        tls: more.ca === undefined ? {} : { ca: more.ca },
      }),
    },
    { timeoutMs: more.timeoutMs ?? 20_000, maxBytes: more.maxBytes ?? 65_536 },
  )

const sh = (script: string) => () => ({ run: ['sh', '-c', script] as const })

describe.each(['v5.channel.k8s.io', 'v4.channel.k8s.io'])('exec over %s', (protocol) => {
  test('gives the command its input, and answers what it said and its exit code', async () => {
    const { url, requests } = await endpoint({
      react: sh('read -r line; printf "said %s" "$line"; echo complaint >&2; exit 3'),
      protocols: [protocol],
    })
    expect(await exec(url)(TARGET, 'üñ 1\nmore\n')).toEqual({
      ok: true,
      value: { stdout: 'said üñ 1', stderr: 'complaint\n', exitCode: 3 },
    })
    expect(requests).toEqual([{ ...TARGET, authorization: 'Bearer job-token', protocol }])
  })

  test('answers 0 for a command that succeeds, and all of a long output', async () => {
    const { url } = await endpoint({ react: sh('read -r n; seq "$n"'), protocols: [protocol] })
    const answer = await exec(url)(TARGET, '9000\n')
    expect(answer).toMatchObject({ ok: true, value: { stderr: '', exitCode: 0 } })
    expect(answer.ok && answer.value.stdout.trim().split('\n').length).toBe(9000)
  })
})

describe('exec', () => {
  test('ends the input where the protocol can', async () => {
    const { url } = await endpoint({ react: sh('cat; echo end') })
    expect(await exec(url)(TARGET, 'in ')).toMatchObject({ ok: true, value: { stdout: 'in end\n' } })
  })

  test('comes by TLS to a server that it was told to trust, and to no other', async () => {
    const { ca, issue } = await createAuthority(await temporaryFolder(), 'api')
    const { cert, key } = await issue('server')
    const { url, requests } = await endpoint({ react: sh('read -r line'), tls: { cert, key } })
    expect(await exec(url, { ca })(TARGET, '\n')).toMatchObject({ ok: true, value: { exitCode: 0 } })
    expect(await exec(url)(TARGET, '\n')).toEqual({
      ok: false,
      failure: {
        reason: 'kube_unreachable',
        call: 'create pods/exec',
        why: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE: its certificate is not trusted',
        sent: false,
      },
    })
    expect(requests).toHaveLength(1)
  })

  test.each([
    [401, { reason: 'kube_unauthenticated' }],
    [403, { reason: 'kube_forbidden', call: 'create pods/exec' }],
    [404, { reason: 'kube_error', call: 'create pods/exec', code: 404 }],
    [500, { reason: 'kube_error', call: 'create pods/exec', code: 500 }],
  ])('fails when the API server answers %i', async (refuse, failure) => {
    const { url } = await endpoint({ react: () => ({ refuse }) })
    expect(await exec(url)(TARGET, 'secret')).toEqual({ ok: false, failure })
  })

  test('fails when nobody listens', async () => {
    const { url, stop } = await startExecEndpoint({ react: () => ({ refuse: 500 }) })
    await stop()
    expect(await exec(url)(TARGET, '')).toMatchObject({
      ok: false,
      failure: { reason: 'kube_unreachable', why: 'ECONNREFUSED', sent: false },
    })
  })

  test('fails when the connection ends before the status', async () => {
    const { url } = await endpoint({ react: () => ({ send: [message(1, 'half')], hangUp: true }) })
    expect(await exec(url)(TARGET, '')).toMatchObject({
      ok: false,
      failure: { reason: 'kube_unreachable', sent: true },
    })
  })

  test.each([
    ['a channel that no protocol has', [message(9, 'x')]],
    ['a status that is no JSON', [message(3, 'no')]],
    [
      'a status without an exit code',
      [statusMessage({ status: 'Failure', reason: 'InternalError', code: 500 })],
    ],
    [
      'an exit code that is no number',
      [
        statusMessage({
          status: 'Failure',
          reason: 'NonZeroExitCode',
          details: { causes: [{ reason: 'ExitCode', message: 'x' }] },
        }),
      ],
    ],
  ])('fails for %s', async (_what, send) => {
    const { url } = await endpoint({ react: () => ({ send }) })
    expect(await exec(url)(TARGET, '')).toMatchObject({ ok: false, failure: { reason: 'kube_error' } })
  })

  test('takes the end of a stream, a stray message after the status and a double one as nothing', async () => {
    const done = statusMessage({ status: 'Success' })
    const { url } = await endpoint({
      react: () => ({ send: [Buffer.of(255, 1), message(1, 'a'), done, message(1, 'b'), done] }),
    })
    expect(await exec(url)(TARGET, '')).toEqual({
      ok: true,
      value: { stdout: 'a', stderr: '', exitCode: 0 },
    })
    expect(process.stdout.writable).toBe(true)
  })

  test('puts together what comes in fragments and pieces', async () => {
    const failed = {
      status: 'Failure',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '7' }] },
    }
    const { url } = await endpoint({
      react: () => ({
        dribble: [message(1, 'one '), message(2, 'com\u00fc'), message(1, 'two'), statusMessage(failed)],
      }),
    })
    expect(await exec(url)(TARGET, '')).toEqual({
      ok: true,
      value: { stdout: 'one two', stderr: 'com\u00fc', exitCode: 7 },
    })
  })

  test('is in the middle of a long input when the connection is dropped', async () => {
    const { url } = await endpoint({ react: () => ({ send: [message(1, 'reading')], hangUp: true }) })
    expect(await exec(url)(TARGET, 'x'.repeat(4_000_000))).toMatchObject({
      ok: false,
      failure: { reason: 'kube_unreachable', sent: true },
    })
  })

  test('fails when the command says too much', async () => {
    const { url } = await endpoint({ react: sh('yes') })
    expect(await exec(url, { maxBytes: 1000 })(TARGET, '')).toMatchObject({
      ok: false,
      failure: { reason: 'kube_error' },
    })
  })

  test('ends at its time limit and when it is told to', async () => {
    const { url } = await endpoint({ react: sh('sleep 60') })
    const timeout = { ok: false, failure: { reason: 'kube_timeout', call: 'create pods/exec' } }
    expect(await exec(url, { timeoutMs: 100 })(TARGET, '')).toEqual(timeout)
    const ending = new AbortController()
    const running = exec(url)(TARGET, '', { signal: ending.signal })
    ending.abort()
    expect(await running).toEqual(timeout)
    expect(await exec(url)(TARGET, '', { signal: ending.signal })).toEqual(timeout)
  })

  test('is for names of DNS only', async () => {
    const running = exec('http://127.0.0.1:1')({ ...TARGET, pod: 'a/../b' }, '')
    await expect(running).rejects.toThrow(TypeError)
  })
})
