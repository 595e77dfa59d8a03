import { request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'

export interface MintedEvents {
  /** Does it, and waits for the Event that follows. Answers its milliseconds, without that. */
  readonly after: (mint: () => Promise<number>) => Promise<number>
  readonly stop: () => void
}

interface Watched {
  readonly url: string
  /** PEM. */
  readonly ca: string
  /** Of somebody who may watch Events there. */
  readonly token: string
  readonly namespace: string
}

const ISSUED = '"reason":"CredentialIssued"'
const WAIT_MS = 20_000

/** Watches for the Event after each mint: whatever is measured next does not share the machine with it. */
export async function watchMinted({ url, ca, token, namespace }: Watched): Promise<MintedEvents> {
  let seen = 0
  const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events?watch=true&fieldSelector=reason%3DCredentialIssued`
  const watching = request(new URL(path, url), {
    ca,
    agent: false,
    headers: { authorization: `Bearer ${token}` },
  })
  const answered = new Promise<void>((resolve, reject) => {
    watching.once('error', reject)
    watching.once('response', (answer) => {
      let rest = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) seen += line.includes(ISSUED) ? 1 : 0
      })
      // The end of the run ends it too.
      answer.on('error', () => undefined)
      if (answer.statusCode === 200) resolve()
      else reject(new Error(`GET ${path}: ${answer.statusCode}`))
    })
  })
  watching.end()
  await answered
  watching.on('error', () => undefined)
  return {
    after: async (mint) => {
      const before = seen
      const ms = await mint()
      const deadline = performance.now() + WAIT_MS
      while (seen <= before) {
        if (performance.now() > deadline) throw new Error('waited in vain for the Event of a mint')
        await sleep(1)
      }
      return ms
    },
    stop: () => watching.destroy(),
  }
}
