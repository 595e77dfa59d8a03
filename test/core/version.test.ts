import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { VERSION } from '../../src/version.ts'

test('the version that the function, its commands and their User-Agent name is that of package.json', async () => {
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(VERSION).toBe(version)
})
