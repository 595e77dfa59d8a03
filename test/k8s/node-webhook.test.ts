import type { LookupAddress } from 'node:dns'
import { describe, expect, test } from 'vitest'
import { createWebhookClient, guardedLookup, isForbiddenAddress } from '../../src/k8s/node-webhook.ts'

describe('an address that no webhook may have', () => {
  test.each([
    '127.0.0.1',
    '127.8.8.8',
    '0.0.0.0',
    '169.254.169.254',
    '224.0.0.1',
    '255.255.255.255',
    '100.100.100.200',
    '168.63.129.16',
    '::',
    '::1',
    'fe80::1',
    'fe80::1%eth0',
    'ff02::1',
    'fd00:ec2::254',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::7f00:1',
    '64:ff9b::6464:64c8',
    '64:ff9b:1::7f00:1',
    '::7f00:1',
    '2002:7f00:1::',
    '::ffff:0:a9fe:a9fe',
    'fec0::1',
    'fd00:ec2::23',
    'fd20:ce::254',
    '192.0.0.192',
  ])('%s', (address) => {
    expect(isForbiddenAddress(address)).toBe(true)
  })

  test.each([
    '10.96.0.10',
    '192.168.1.7',
    '172.16.0.1',
    '203.0.113.5',
    'fd12::5',
    '2001:db8::1',
    '::ffff:10.0.0.1',
  ])('is not %s', (address) => {
    expect(isForbiddenAddress(address)).toBe(false)
  })
})

/** Looks a name up that has these addresses. */
const lookedUp = (addresses: readonly string[], all: boolean) =>
  new Promise((resolve) => {
    const found: LookupAddress[] = addresses.map((address) => ({
      address,
      family: address.includes(':') ? 6 : 4,
    }))
    const guarded = guardedLookup((_, __, done) => done(null, found))
    guarded('hooks.example', { all }, (error, address, family) => resolve(error?.code ?? [address, family]))
  })

describe('a name that is looked up', () => {
  test('leads where the system says', async () => {
    expect(await lookedUp(['10.0.0.1', 'fd12::5'], false)).toEqual(['10.0.0.1', 4])
    expect(await lookedUp(['fd12::5'], true)).toEqual([[{ address: 'fd12::5', family: 6 }], undefined])
  })

  test.each([[['169.254.169.254']], [['10.0.0.1', '127.0.0.1']], [[]]])(
    'leads nowhere when its addresses are %j',
    async (addresses) => {
      expect(await lookedUp(addresses, true)).toBe('ADDRESS_NOT_ALLOWED')
      expect(await lookedUp(addresses, false)).toBe('ADDRESS_NOT_ALLOWED')
    },
  )

  test('is no name: what the system says of that is passed on', async () => {
    const missing = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    const guarded = guardedLookup((_, __, done) => done(missing, []))
    expect(await new Promise((resolve) => guarded('x', {}, (error) => resolve(error?.code)))).toBe(
      'ENOTFOUND',
    )
  })
})

test('a connection that may not be local does not reach this machine, whatever its name is', async () => {
  const { fetch, close } = createWebhookClient({ host: 'localhost', ca: undefined, mayBeLocal: false })
  await expect(fetch(new Request('https://localhost:1/'))).rejects.toMatchObject({
    code: 'ADDRESS_NOT_ALLOWED',
  })
  close()
})
