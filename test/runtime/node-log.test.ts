import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createLineWriter } from '../../src/node-log.ts'

const MODULE = JSON.stringify(join(import.meta.dirname, '../../src/node-log.ts'))

test('lines wait until what is at hand is done, and go out together and in order', async () => {
  const before = process.listeners('exit')
  onTestFinished(() => {
    for (const each of process.listeners('exit')) if (!before.includes(each)) process.off('exit', each)
  })
  const written: string[] = []
  const line = createLineWriter({ write: (text) => written.push(text) })
  line('one')
  await Promise.resolve()
  line('two')
  expect(written).toEqual([])
  await nextTurn()
  expect(written).toEqual(['one\ntwo\n'])
  line('three')
  await nextTurn()
  expect(written).toEqual(['one\ntwo\n', 'three\n'])
})

test.each([
  ['ends', ''],
  ['is ended', 'process.exit(0)'],
  ['throws', "throw new Error('on purpose')"],
  ['rejects', "await Promise.reject(new Error('on purpose'))"],
])('none is lost when the process %s', (_, end) => {
  const script = `
    import { createLineWriter } from ${MODULE}
    const line = createLineWriter(process.stdout)
    line('one')
    line('two')
    ${end}`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  })
  expect(stdout).toBe('one\ntwo\n')
})
