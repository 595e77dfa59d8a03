/**
 * `npm run build`: all bundles, into a `dist` that is emptied before. `npm run build -- worker client`: only those, beside what
 * is there. The client comes with its types.
 */
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { BUNDLES, type BundleName, bundle } from './bundles.ts'

const DIST = 'dist'
const TSC = 'node_modules/typescript/bin/tsc'

const asked = process.argv.slice(2)
const names = BUNDLES.filter((name) => asked.length === 0 || asked.includes(name))
const unknown = asked.filter((name) => !BUNDLES.some((each) => each === name))

async function build(name: BundleName): Promise<void> {
  if (name !== 'client') return void (await bundle(name, DIST, { logLevel: 'info' }))
  await promisify(execFile)(process.execPath, [TSC, '-p', 'tsconfig.client.json'])
  await bundle(name, `${DIST}/client`, { logLevel: 'info' })
}

if (unknown.length > 0) {
  process.stderr.write(`there is no bundle ${unknown.join(', ')}: ${BUNDLES.join(', ')}\n`)
  process.exitCode = 2
} else {
  if (asked.length === 0) await rm(DIST, { recursive: true, force: true })
  await Promise.all(names.map(build))
}
