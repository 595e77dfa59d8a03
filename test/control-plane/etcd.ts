import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

interface RangeAnswer {
  readonly kvs?: readonly { readonly key: string; readonly value?: string }[]
}

/** From the first key to the last: a zero byte stands for either end. */
const EVERYTHING = JSON.stringify({ key: 'AA==', range_end: 'AA==' })

/** Every key and value of now, a line each, as etcd's own HTTP gateway gives them. */
export async function dumpEtcd(url: string): Promise<Buffer> {
  const response = await fetch(`${url}/v3/kv/range`, { method: 'POST', body: EVERYTHING })
  if (!response.ok) throw new Error(`etcd answered ${response.status}: ${await response.text()}`)
  const { kvs = [] } = (await response.json()) as RangeAnswer
  const line = Buffer.from('\n')
  return Buffer.concat(
    kvs.flatMap(({ key, value = '' }) => [
      Buffer.from(key, 'base64'),
      line,
      Buffer.from(value, 'base64'),
      line,
    ]),
  )
}

/** The bytes of its write-ahead log: everything that was ever written, also what was deleted since. */
export async function readEtcdLog(dataFolder: string): Promise<Buffer> {
  const folder = join(dataFolder, 'member', 'wal')
  const files = (await readdir(folder)).filter((file) => file.endsWith('.wal'))
  return Buffer.concat(await Promise.all(files.map((file) => readFile(join(folder, file)))))
}
