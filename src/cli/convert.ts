import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Deps } from '../core/deps.ts'
import { createKube } from '../k8s/adapter.ts'
import { createConversionKube } from '../k8s/adapter-conversion.ts'
import { reach } from './cluster.ts'
import type { ConvertCommand } from './convert-command-line.ts'
import { convertHook } from './convert-hook.ts'
import { convertJob } from './convert-job.ts'
import { createConvertOutput } from './convert-output.ts'
import type { ConvertParts } from './convert-parts.ts'
import { readDocuments } from './documents.ts'
import { reachForExec } from './exec-way.ts'
import { createDeps } from './run-app.ts'

/** Answers the exit code. */
type Part = (parts: ConvertParts, command: ConvertCommand) => Promise<number>

/** The parts of a conversion: each a file beside this one and a line here. */
const PARTS: Readonly<Record<ConvertCommand['part'], Part>> = {
  hook: convertHook,
  job: convertJob,
}

/** With the same settings as the function that is deployed, and rights of its own. Answers the exit code. */
export async function runConvert(config: Config, command: ConvertCommand): Promise<number> {
  const ending = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort())
  const send = await reach(config, command.cluster)
  const own = createDeps(config)
  const output = createConvertOutput({
    format: command.output,
    isTerminal: process.stderr.isTTY === true,
    log: own.log,
    print: (text) => void process.stdout.write(`${text}\n`),
    write: (text) => void process.stderr.write(text),
  })
  const deps: Deps = { ...own, log: output.log }
  const ways = { send, timeoutMs: config.kubeTimeoutMs, now: deps.now, metrics: deps.metrics }
  return PARTS[command.part](
    {
      config,
      kube: createKube({ ...ways, reportingInstance: hostname() }),
      conversionKube: createConversionKube(ways),
      deps,
      execWay: await reachForExec(config, command.cluster),
      // A signal ends it early, which is no error.
      wait: (milliseconds, signal) => sleep(milliseconds, undefined, { signal }).catch(() => {}),
      readDocuments,
      signal: ending.signal,
      output,
    },
    command,
  )
}
