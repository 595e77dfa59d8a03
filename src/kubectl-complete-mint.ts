#!/usr/bin/env node
import { complaintAboutNode } from './kubectl/node-version.ts'

// Quiet where it cannot run: "kubectl mint" itself says why.
if (complaintAboutNode('kubectl_complete-mint') === undefined) {
  const { mainOfCompletion } = await import('./kubectl/main.ts')
  await mainOfCompletion('mint')
}
