export const HELP = `mintonce: passwords for managed applications on Kubernetes, each shown once

Usage:
  mintonce demo                            walk through a mint in a sandbox, then end
  mintonce dev                             serve the sandbox on 127.0.0.1:8080 until interrupted
  mintonce dev --kubeconfig [PATH]         serve in front of a cluster, with your own rights in it
  mintonce sweep                           bring the account Secrets of all releases in step, once: as a CronJob does, in
                                           its own cluster, or with --kubeconfig
  mintonce adopt [-n NAMESPACE | -A]       before a backup: mark account Secrets for the next releases of their names
                 [--release NAME]          (docs/restore.md), in the cluster that kubectl would take
                 [--dry-run] [-o table|json]
  mintonce convert hook --definitions FILE...
                 --platform-namespace NS   before the charts of a kind change: write account Secrets from the passwords
                 [-n NAMESPACE]            that its applications have (docs/converting.md), as a Job does in its own
                 [--concurrency N]         cluster, or with --kubeconfig
                 [--dry-run] [-o table|json]
  mintonce convert job                     after they have switched: take away what is left in the clear, and rotate what
                 --platform-namespace NS   tenants could read; fails while a release is left out
                 [--definitions FILE...]   for kinds whose definition has no block in the cluster
                 [--deadline SECONDS]      for each release
                 [-n NAMESPACE] [--concurrency N] [--dry-run] [-o table|json]
  mintonce definition check FILE...        read ApplicationDefinitions, YAML or JSON (- reads standard input), as the function
                 [--release FILE]          would, without a cluster; and show which accounts the HelmReleases in FILE have
  mintonce --version

Options:
  --kubeconfig [PATH]    the cluster; without PATH the file that kubectl would take
  --context NAME         a context of that file other than the current one
  -n, --namespace NAME   other than the context's
  -A, --all-namespaces
  --release NAME         only the Secrets of this HelmRelease; for definition check a file
  --dry-run              check everything, store nothing
  -o, --output FORMAT    table or json
  -h, --help
  --version

dev, sweep and convert read the same environment variables as the function that is deployed (PORT, MINTONCE_API_GROUP, ...: see README.md).
PORT=0 takes any port that is free.

In a clone of the project, "npm run dev --" stands for "mintonce dev":
  npm run demo
  PORT=8081 npm run dev
  npm run dev -- --kubeconfig ~/.kube/config --context kind-mintonce

Exit codes: 0 as it should be, 1 it failed, 2 the command line was not understood, or a file to check cannot be read.
`

export const HINT = 'mintonce --help shows what there is'
