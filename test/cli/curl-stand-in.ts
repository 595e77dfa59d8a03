/** The part of curl that the documentation uses, with curl's defaults: `-d` makes a POST of a form. */
import { readFileSync } from 'node:fs'
import { setDefaultCACertificates } from 'node:tls'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    request: { type: 'string', short: 'X' },
    header: { type: 'string', short: 'H', multiple: true, default: [] },
    data: { type: 'string', short: 'd' },
    silent: { type: 'boolean', short: 's' },
    'show-error': { type: 'boolean', short: 'S' },
    'fail-with-body': { type: 'boolean' },
    cacert: { type: 'string' },
  },
})
const [url, ...more] = positionals
if (url === undefined || more.length > 0)
  throw new Error(`curl: one address, and not ${positionals.join(' ')}`)

const headers = new Headers({ Accept: '*/*' })
const { data } = values
if (data !== undefined) headers.set('Content-Type', 'application/x-www-form-urlencoded')
for (const header of values.header) {
  const [name = '', ...value] = header.split(':')
  headers.set(name, value.join(':').trim())
}
if (values.cacert !== undefined) setDefaultCACertificates([readFileSync(values.cacert, 'utf8')])
const method = values.request ?? (data === undefined ? 'GET' : 'POST')
const answer = await fetch(url, { method, headers, ...(data === undefined ? {} : { body: data }) })
process.stdout.write(await answer.text())
if (values['fail-with-body'] && !answer.ok) process.exitCode = 22
