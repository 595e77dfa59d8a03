import { startControlPlane } from './start.ts'

const { kubeconfig, folder, binaries } = await startControlPlane()
process.stdout.write(`export KUBECONFIG=${kubeconfig}\n`)
process.stderr.write(`kubectl ${binaries.kubectl}\nlogs    ${folder}\nCtrl-C ends it.\n`)

// A timer keeps this process up; the signal that ends it also ends the control plane.
setInterval(() => {}, 60_000)
