import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { visible } from '../../src/core/visible.ts'
import type { Issue, Output } from '../../src/kubectl/command-line.ts'
import { render } from '../../src/kubectl/output.ts'
import { fillTemplate, parseTemplate } from '../../src/kubectl/template.ts'

const ISSUED = {
  apiVersion: 'credentials.cozystack.io/v1alpha1',
  kind: 'CredentialRequest',
  metadata: { name: 'postgres-orders.web', namespace: 'tenant-acme' },
  status: { username: 'web', password: 'tq6qwMeDXBl45ud6NjmG5ViDic4PMB0x', issuedAt: '2026-10-02T09:14:07Z' },
}

const asked = (output: Output, dryRun = false) => ({ name: ISSUED.metadata.name, output, dryRun }) as Issue

/** Everything that somebody might have chosen for a username or a password. */
const AWKWARD = `'";$(id)\`\\ #&|<>*?[]{}~!%@:/\t\n--=é€😀`

const minted = (username: string, password: string) => ({
  ...ISSUED,
  status: { ...ISSUED.status, username, password },
})

test('the password alone, and a newline', () => {
  expect(render(ISSUED, 'mint', asked({ as: 'password' }))).toBe('tq6qwMeDXBl45ud6NjmG5ViDic4PMB0x\n')
})

test('for people', () => {
  expect(render(ISSUED, 'mint', asked({ as: 'text' }))).toBe(
    'username: web\npassword: tq6qwMeDXBl45ud6NjmG5ViDic4PMB0x\nissuedAt: 2026-10-02T09:14:07Z\n',
  )
  expect(render(ISSUED, 'mint', asked({ as: 'text' }, true))).toBe(
    'credential/postgres-orders.web minted (server dry run)\n',
  )
  expect(render(ISSUED, 'revoke', asked({ as: 'text' }))).toBe(
    'credential/postgres-orders.web revoked at 2026-10-02T09:14:07Z\n',
  )
  expect(render(ISSUED, 'revoke', asked({ as: 'text' }, true))).toBe(
    'credential/postgres-orders.web revoked (server dry run)\n',
  )
})

test('as JSON it is what came', () => {
  const text = render(ISSUED, 'mint', asked({ as: 'json' }))
  expect(JSON.parse(text)).toEqual(ISSUED)
  expect(text.endsWith('}\n')).toBe(true)
})

test('for a shell: whatever the values hold, a shell reads just them', () => {
  const script = render(minted(AWKWARD, `${AWKWARD}'`), 'mint', asked({ as: 'env', prefix: 'DB_' }))
  const shown = execFileSync('sh', ['-c', `${script}printf '%s\\0%s' "$DB_USERNAME" "$DB_PASSWORD"`])
  expect(shown.toString().split('\0')).toEqual([AWKWARD, `${AWKWARD}'`])
  expect(render(ISSUED, 'mint', asked({ as: 'env', prefix: 'X' }))).toBe(
    "XUSERNAME='web'\nXPASSWORD='tq6qwMeDXBl45ud6NjmG5ViDic4PMB0x'\n",
  )
})

describe('a URI', () => {
  const fill = (template: string, username: string, password: string) => {
    const parsed = parseTemplate(template)
    if (typeof parsed === 'string') throw new Error(parsed)
    return fillTemplate(parsed, { username, password })
  }

  // The table of RFC 3986, section 2.1, and the reserved characters of section 2.2.
  test.each([
    ['web', 'web'],
    ['-._~', '-._~'],
    [':/?#[]@', '%3A%2F%3F%23%5B%5D%40'],
    ["!$&'()*+,;=", '%21%24%26%27%28%29%2A%2B%2C%3B%3D'],
    ['100%', '100%25'],
    [' "<>\\^`{|}', '%20%22%3C%3E%5C%5E%60%7B%7C%7D'],
    ['\u0000\n', '%00%0A'],
    // RFC 3986, section 2.5.
    ['À', '%C3%80'],
    ['ア', '%E3%82%A2'],
    ['😀', '%F0%9F%98%80'],
  ])('%j is %s in it', (value, encoded) => {
    expect(fill('x://{username}:{password}@h/d', value, value)).toBe(`x://${encoded}:${encoded}@h/d`)
  })

  test('is read by another reader as what was put in', () => {
    const url = new URL(fill('postgresql://{username}:{password}@orders-rw:5432/orders', AWKWARD, AWKWARD))
    expect([url.username, url.password].map(decodeURIComponent)).toEqual([AWKWARD, AWKWARD])
    expect([url.hostname, url.port, url.pathname]).toEqual(['orders-rw', '5432', '/orders'])
  })

  test('does not read a value as a template, and takes a placeholder twice', () => {
    expect(fill('{username}{password}{password}', '{password}', 'p')).toBe('%7Bpassword%7Dpp')
  })

  test('does not fail on half a character: the password is not lost', () => {
    expect(fill('{username}:{password}', '\ud83d', 'p')).toBe('%EF%BF%BD:p')
  })

  test.each([
    ['{user}{password}', 'it knows no {user}'],
    ['{Password}', 'it knows no {Password}'],
    ['{}{password}', 'it knows no {}'],
    ['{{password}}', 'a brace stands alone'],
    ['{password', 'a brace stands alone'],
    ['postgresql://h', 'it has no {password}'],
    ['', 'it has no {password}'],
  ])('%s is no template for one', (template, message) => {
    expect(parseTemplate(template)).toContain(message)
  })
})

test('what a server says cannot repaint a terminal', () => {
  expect(visible('a\u001b[2Jb\u009bc\u007fd\u202ee\r\nf\tg')).toBe('a\ufffd[2Jb\ufffdc\ufffdd\ufffde f g')
  expect(visible('Jürgen 名前 😀')).toBe('Jürgen 名前 😀')
})
