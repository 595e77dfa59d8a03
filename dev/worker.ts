import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Readable } from 'node:stream'
import { Miniflare } from 'miniflare'
import { invitationOf } from '../src/cli/dev.ts'
import { originOf, whyNotListening } from '../src/cli/run-app.ts'
import { readConfig } from '../src/config.ts'
import { createHttpsClient } from '../src/k8s/node-https.ts'
import { BUNDLE, bundleWorker, RUNTIME } from './bundle-worker.ts'
import { bindingTo, guardedBy } from './kube-binding.ts'
import { openKubernetes } from './kubernetes.ts'
import { parseOptions } from './options.ts'
import { run } from './run.ts'

const HELP = `The worker in workerd (Miniflare), in front of a Kubernetes API, until interrupted

  npm run dev:worker                       the cluster that kubectl would take, with your own rights in it
  npm run dev:worker -- --kubeconfig PATH --context NAME
  npm run dev:worker -- --sandbox          no cluster

It reads PORT, MINTONCE_LISTEN_ADDRESS and the settings that a worker has: see docs/worker.md.
`

run(async (started) => {
  const options = parseOptions(process.argv.slice(2))
  if (options.is === 'help') return print(HELP)
  // Without files and without YAML, as the worker will read it: so that its mistakes are told here.
  const config = await readConfig(process.env)
  const host = config.listenAddress ?? '127.0.0.1'
  await checkFree(host, config.port)
  const { fetch, cluster } = await openKubernetes(options, config)
  const secret = randomBytes(32).toString('base64url')
  const miniflare = new Miniflare({
    name: 'mintonce',
    modules: true,
    script: await bundleWorker(),
    scriptPath: BUNDLE,
    compatibilityDate: RUNTIME.compatibilityDate,
    compatibilityFlags: [...RUNTIME.compatibilityFlags],
    bindings: { ...settings(), KUBE_TOKEN: secret },
    serviceBindings: { KUBE: bindingTo(guardedBy(secret, fetch)) },
    cf: false,
    host,
    port: config.port,
    handleRuntimeStdio: forwardLog,
  })
  started(miniflare)
  const { hostname, port } = await miniflare.ready
  const origin = originOf({ address: hostname.replace(/^\[|\]$/g, ''), port: Number(port) })
  const { group, audiences } = config
  process.stdout.write('src/worker.ts, bundled, in workerd.\n')
  process.stdout.write(`${invitationOf({ origin, group, audiences, cluster })}\n`)
  await warnUnlessReady(origin)
})

const print = (text: string): void => {
  process.stdout.write(text)
}

/** What this process was told about the function, for the function. */
const settings = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[0].startsWith('MINTONCE_') && entry[1] !== undefined,
    ),
  )

/** Throws an Error that says what hinders. workerd would say it with a stack of addresses. */
async function checkFree(host: string, port: number): Promise<void> {
  const probe = createServer().listen(port, host)
  try {
    await once(probe, 'listening')
  } catch (error) {
    throw new Error(whyNotListening(error, `${host}:${port}`), { cause: error })
  }
  probe.close()
  await once(probe, 'close')
}

/** The worker's log lines, beside the command's own output. */
function forwardLog(stdout: Readable, stderr: Readable): void {
  for (const stream of [stdout, stderr]) stream.pipe(process.stderr)
}

/** A cluster that is away may come back: served all the same. */
async function warnUnlessReady(origin: string): Promise<void> {
  const answer = await createHttpsClient(undefined).fetch(new Request(`${origin}/readyz`))
  if (!answer.ok) process.stderr.write(`mintonce: ${await answer.text()}`)
}
