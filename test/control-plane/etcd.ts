import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

interface RangeAnswer {
  readonly kvs?: readonly { readonly key: string; readonly value?: string }[]
}

interface Answered {
  readonly header: { readonly revision: string }
}

/** From the first key to the last: a zero byte stands for either end. */
const EVERYTHING = JSON.stringify({ key: 'AA==', range_end: 'AA==' })

/** A call of etcd's own HTTP gateway. */
async function ask<T>(url: string, call: string, body: string): Promise<T> {
  const response = await fetch(`${url}/v3/kv/${call}`, { method: 'POST', body })
  if (!response.ok) throw new Error(`etcd answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as T
}

/** Every key and value of now, a line each. */
export async function dumpEtcd(url: string): Promise<Buffer> {
  const { kvs = [] } = await ask<RangeAnswer>(url, 'range', EVERYTHING)
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

/** Forgets every revision but the last, as an API server has it done every five minutes. */
export async function compactEtcd(url: string): Promise<void> {
  // What is written last is kept: something else than what a list was begun at.
  const key = Buffer.from('mintonce-test').toString('base64')
  const { header } = await ask<Answered>(url, 'put', JSON.stringify({ key, value: key }))
  await ask(url, 'compaction', JSON.stringify({ revision: header.revision, physical: true }))
}

/** The bytes of its write-ahead log: everything that was ever written, also what was deleted since. */
export async function readEtcdLog(dataFolder: string): Promise<Buffer> {
  const folder = join(dataFolder, 'member', 'wal')
  const files = (await readdir(folder)).filter((file) => file.endsWith('.wal'))
  return Buffer.concat(await Promise.all(files.map((file) => readFile(join(folder, file)))))
}
