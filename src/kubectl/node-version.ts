/** As `engines` in package.json says. */
const OLDEST = 24

/**
 * Undefined when this Node can run the rest, which is then to be imported; else what to tell. The kubeconfig's reader
 * does not load in Node 20, with an error that nobody could make sense of.
 */
export function complaintAboutNode(program: string, node = process.versions.node): string | undefined {
  if (Number(node.split('.', 1)[0]) >= OLDEST) return undefined
  return `error: ${program} needs Node.js ${OLDEST} or newer; "node" on the PATH is ${node}\n`
}
