#!/usr/bin/env node
import { complaintAboutNode } from './kubectl/node-version.ts'

// Quiet where it cannot run: "kubectl revoke" itself says why.
if (complaintAboutNode('kubectl_complete-revoke') === undefined) {
  const { mainOfCompletion } = await import('./kubectl/main.ts')
  await mainOfCompletion('revoke')
}
