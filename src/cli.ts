#!/usr/bin/env node
import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { runAdopt } from './cli/adopt.ts'
import { reach, servicesFor } from './cli/cluster.ts'
import type { ClusterOptions } from './cli/cluster-options.ts'
import { type AdoptCommand, type Command, parseCommandLine } from './cli/command-line.ts'
import { runDefinitionCheck } from './cli/definition-check.ts'
import { runDemo } from './cli/demo.ts'
import { invitationOf } from './cli/dev.ts'
import { readDocuments } from './cli/documents.ts'
import { openExample } from './cli/example.ts'
import { HELP, HINT } from './cli/help.ts'
import { createDeps, originOf, runApp } from './cli/run-app.ts'
import { runSweep } from './cli/sweep.ts'
import { type Config, readConfig } from './config.ts'
import { readWebhookHosts } from './config-webhooks.ts'
import { own, parseJson, textAt } from './core/json.ts'
import { decodeData } from './core/text.ts'
import { createHttpsClient } from './k8s/node-https.ts'
import { openKubeconfig } from './k8s/node-kubeconfig.ts'
import { sendOver } from './k8s/send.ts'
import { VERSION } from './version.ts'

type DefinitionCommand = Extract<Command, { is: 'definition-check' }>

/** Beside `src` and beside `dist` alike. */
const ROLES = new URL('../deploy/base/rbac/', import.meta.url)

const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

const complain = (text: string): void => {
  process.stderr.write(`mintonce: ${text}\n`)
}

/** Answers the exit code; undefined while something is served. */
async function main(args: readonly string[]): Promise<number | undefined> {
  const command = parseCommandLine(args)
  switch (command.is) {
    case 'help':
      process.stdout.write(HELP)
      return 0
    case 'version':
      print(`mintonce ${VERSION}`)
      return 0
    case 'mistake':
      complain(`${command.message}\n${HINT}`)
      return 2
    case 'demo':
      return (await demo()) ? 0 : 1
    case 'dev':
      return dev(command.cluster)
    case 'sweep':
      return (await sweep(command.cluster)) ? 0 : 1
    case 'adopt':
      return (await adopt(command)) ? 0 : 1
    case 'definition-check':
      return checkDefinitions(command)
    case 'convert': {
      const { runConvert } = await import('./cli/convert.ts')
      return runConvert(await readSettings(), command)
    }
  }
}

/** The same every time: what the environment says is not for it. */
async function demo(): Promise<boolean> {
  const config = await readConfig({ PORT: '0', MINTONCE_LOG_LEVEL: 'error' })
  const deps = createDeps(config)
  const { admin, kube } = await openExample({ deps, rolesFolder: ROLES, audiences: config.audiences })
  const serving = await runApp(config, { deps, kube: sendOver(kube) })
  print(`mintonce ${VERSION}: one password, from the request to the check that a database makes.`)
  print(`The function is the one that ships, on ${originOf(serving)}; the cluster is a sandbox in memory.`)
  try {
    return await runDemo({
      baseUrl: originOf(serving),
      // Not the global one, which may send a request again.
      fetch: createHttpsClient(undefined).fetch,
      storeRelease: async (release) => {
        const namespace = textAt(release, 'metadata', 'namespace') ?? ''
        const url = `https://kubernetes.default.svc/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases`
        const headers = { 'Content-Type': 'application/json' }
        return (await admin(new Request(url, { method: 'POST', headers, body: JSON.stringify(release) }))).ok
      },
      readStored: async (namespace, secret) => {
        const url = `https://kubernetes.default.svc/api/v1/namespaces/${namespace}/secrets/${secret}`
        const answer = await admin(new Request(url))
        return decodeData(textAt(own(parseJson(await answer.text()), 'data'), 'password'))
      },
      print,
    })
  } finally {
    await serving.stop()
  }
}

const readSettings = (): Promise<Config> =>
  readConfig(process.env, {
    readText: (path) => readFile(path, 'utf8'),
    parseYaml: async (text) => parse(text),
  })

/** As the function that is deployed, with its settings. */
async function sweep(cluster: ClusterOptions | undefined): Promise<boolean> {
  const config = await readSettings()
  const ending = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort())
  const services = servicesFor(config, await reach(config, cluster))
  return runSweep(services, {
    print,
    complain,
    isTerminal: process.stdout.isTTY === true,
    isPod: cluster === undefined,
    signal: ending.signal,
  })
}

/** As whom the kubeconfig says. */
async function adopt({ cluster, allNamespaces, ...command }: AdoptCommand): Promise<boolean> {
  const config = await readSettings()
  const access = await openKubeconfig(cluster)
  const namespace = allNamespaces ? undefined : (command.namespace ?? access.namespace)
  return runAdopt(servicesFor(config, access.send).kube, { ...command, namespace, print, complain })
}

/** Offline, with the one setting that says which definitions are right. */
async function checkDefinitions(command: Pick<DefinitionCommand, 'files' | 'release'>): Promise<number> {
  const problems: string[] = []
  const hosts = readWebhookHosts(process.env, problems)
  if (problems.length > 0) throw new Error(`bad configuration:\n  ${problems.join('\n  ')}`)
  return runDefinitionCheck({ ...command, readDocuments, hosts, print, complain })
}

async function dev(options: ClusterOptions | undefined): Promise<undefined> {
  const config = await readSettings()
  const deps = createDeps(config)
  const cluster = options === undefined ? undefined : await openKubeconfig(options)
  const kube =
    cluster?.send ??
    sendOver((await openExample({ deps, rolesFolder: ROLES, audiences: config.audiences })).kube)
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.once(signal, () => process.exit(code))
  }
  const origin = originOf(await runApp(config, { deps, kube }))
  print(invitationOf({ origin, group: config.group, audiences: config.audiences, cluster }))
  await warnUnlessReady(origin)
  return undefined
}

/** A cluster that is away may come back: served all the same. */
async function warnUnlessReady(origin: string): Promise<void> {
  const answer = await createHttpsClient(undefined).fetch(new Request(`${origin}/readyz`))
  // Read in any case: until then it holds its connection.
  const text = await answer.text()
  if (!answer.ok) complain(text.trimEnd())
}

main(process.argv.slice(2)).then(
  (code) => {
    if (code !== undefined) process.exitCode = code
  },
  (error: unknown) => {
    complain(error instanceof Error ? error.message : 'failed')
    process.exitCode = 1
  },
)
