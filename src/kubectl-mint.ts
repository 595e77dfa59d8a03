#!/usr/bin/env node
import { complaintAboutNode } from './kubectl/node-version.ts'

const complaint = complaintAboutNode('kubectl-mint')
if (complaint === undefined) {
  const { main } = await import('./kubectl/main.ts')
  await main('mint')
} else {
  process.stderr.write(complaint)
  process.exitCode = 1
}
