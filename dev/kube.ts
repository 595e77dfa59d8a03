import { getDefaultDevRegistryPath, Miniflare } from 'miniflare'
import { readConfig } from '../src/config.ts'
import { bindingTo, guardedBy } from './kube-binding.ts'
import { openKubernetes } from './kubernetes.ts'
import { parseOptions } from './options.ts'
import { run } from './run.ts'
import { sharedSecret } from './shared-secret.ts'

const HELP = `The service binding KUBE for "npx wrangler dev", until interrupted

  npm run dev:kube                         the cluster that kubectl would take, with your own rights in it
  npm run dev:kube -- --kubeconfig PATH --context NAME
  npm run dev:kube -- --sandbox            no cluster
`

/** How wrangler.toml calls it: `service = "kube"`. */
const NAME = 'kube'
const SCRIPT = 'export default { fetch: (request, env) => env.NODE.fetch(request) }'

run(async (started) => {
  const options = parseOptions(process.argv.slice(2))
  if (options.is === 'help') return print(HELP)
  const { fetch, cluster } = await openKubernetes(options, await readConfig({}))
  const { secret, file } = await sharedSecret(process.cwd())
  const miniflare = new Miniflare({
    name: NAME,
    modules: true,
    script: SCRIPT,
    serviceBindings: { NODE: bindingTo(guardedBy(secret, fetch)) },
    cf: false,
    // Where `wrangler dev` looks for the services that it binds to.
    unsafeDevRegistryPath: getDefaultDevRegistryPath(),
  })
  started(miniflare)
  await miniflare.ready
  const what = cluster === undefined ? 'the sandbox' : `context ${cluster.context} (${cluster.server})`
  print(
    `The service "${NAME}" is ${what}, for those who have the KUBE_TOKEN in ${file}.\n\nnpx wrangler dev --port 8080\n\n`,
  )
})

const print = (text: string): void => {
  process.stdout.write(text)
}
