import type { Issued } from '../client/client.ts'
import { visible } from '../core/visible.ts'
import type { Issue } from './command-line.ts'
import type { Verb } from './flags.ts'
import { fillTemplate } from './template.ts'

/** What a call answered, in the form that was asked for: it ends in a newline, and is all that standard output gets. */
export function render(issued: Issued, verb: Verb, { output, dryRun, name }: Issue): string {
  const { username, password = '', issuedAt } = issued.status
  switch (output.as) {
    case 'json':
      return `${JSON.stringify(issued, undefined, 4)}\n`
    case 'password':
      return `${password}\n`
    case 'uri':
      return `${fillTemplate(output.template, { username, password })}\n`
    case 'env':
      return `${output.prefix}USERNAME=${quoted(username)}\n${output.prefix}PASSWORD=${quoted(password)}\n`
    case 'text':
      if (dryRun) return `credential/${name} ${PAST[verb]} (server dry run)\n`
      if (verb === 'revoke') return `credential/${name} revoked at ${visible(issuedAt)}\n`
      return `username: ${visible(username)}\npassword: ${visible(password)}\nissuedAt: ${visible(issuedAt)}\n`
  }
}

const PAST = { mint: 'minted', revoke: 'revoked' } as const

/** One word for every POSIX shell, whatever stands in it (IEEE Std 1003.1, Shell Command Language, section 2.2.2). */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Beside the output, for people. */
export const afterwards = (verb: Verb): string =>
  verb === 'mint'
    ? 'Shown this once. It works as soon as the operator of the database has applied it; until then the old one does.'
    : 'Nobody can log in any more as soon as the operator of the database has applied it; open sessions stay open.'

export const ON_A_TERMINAL =
  'warning: the password stands on your terminal, which keeps it in its scroll-back: clear that, or pipe with -o password'
