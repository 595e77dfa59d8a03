import { EXIT_MEANINGS } from './exit-codes.ts'
import { type Flag, flagsOf, type Verb } from './flags.ts'

/** What `--help` prints. */
export const helpOf = (verb: Verb): string => `${TEXTS[verb].trim()}

Options:
${flagsOf(verb).map(lineOf).join('\n')}

Exit codes:
${EXIT_MEANINGS.map(([code, meaning]) => `  ${code}  ${meaning}`).join('\n')}
`

const COLUMN = 34

function lineOf({ name, short, value, help }: Flag): string {
  const names = `${short === undefined ? '    ' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`
  return `  ${names.padEnd(COLUMN)}${help}`
}

const ONCE = `This command never sends a call twice, and neither should a script around it without looking at the
exit code: each mint is another password.`

const MINT = `
Mint a password for an account of a managed application. It is shown this once: the cluster keeps what
the database needs to check it, and nobody can read it again.

Usage:
  kubectl mint RELEASE.ACCOUNT [options]        flags go after "mint": kubectl takes none before a plug-in

Examples:
  # User name, password and time, on the terminal
  kubectl mint postgres-orders.web -n tenant-acme

  # Into a Secret of your own: on no command line, without a newline, and only when there is one
  password=$(kubectl mint postgres-orders.web -o password) && printf %s "$password" |
    kubectl create secret generic orders-login --from-literal=username=web \\
      --from-file=password=/dev/stdin

  # Straight into psql
  password=$(kubectl mint postgres-orders.web -o password) &&
    PGPASSWORD=$password psql -h orders-rw -U web orders

  # Into a file that nobody else may read: DB_USERNAME='…' and DB_PASSWORD='…', for a shell to source
  (umask 077 && kubectl mint postgres-orders.web -o env > orders.env)

  # As a URI, with everything encoded that needs to be
  kubectl mint postgres-orders.web -o uri --template 'postgresql://{username}:{password}@orders-rw:5432/orders'

  # Would it work? Nothing changes
  kubectl mint postgres-orders.web --dry-run=server

  # Only if nobody was faster
  version=$(kubectl get credentials postgres-orders.web -o jsonpath='{.metadata.resourceVersion}')
  kubectl mint postgres-orders.web --resource-version "$version"

What it means:
  When it is done (the API answers 201), the password is stored. It works as soon as the operator of the
  database has applied it, within seconds as a rule. Until then the old one does, and open sessions stay
  open.
  When the answer was lost (exit code 6, or an interruption), the password may have been replaced, and
  nobody has seen the new one. Mint again: the newest password is the one that counts.
  ${ONCE.replaceAll('\n', '\n  ')}
`

const REVOKE = `
Revoke the password of an account of a managed application: it is replaced by one that nobody has seen,
so that nobody can log in with a password any more. A mint gives access again.

Usage:
  kubectl revoke RELEASE.ACCOUNT [options]      flags go after "revoke": kubectl takes none before a plug-in

Examples:
  kubectl revoke postgres-orders.web -n tenant-acme

  # Would it work? Nothing changes
  kubectl revoke postgres-orders.web --dry-run=server

  # Only if it is still the one that was looked at
  uid=$(kubectl get credentials postgres-orders.web -o jsonpath='{.metadata.uid}')
  kubectl revoke postgres-orders.web --uid "$uid"

What it means:
  When it is done (the API answers 201), it is stored. The old password works until the operator of the
  database has applied that, and open sessions stay open: end them in the database.
  When the answer was lost (exit code 6, or an interruption), revoke again: it does no harm.
`

const TEXTS = { mint: MINT, revoke: REVOKE } as const
