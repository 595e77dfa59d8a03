import { fail, ok, type Result } from '../core/result.ts'

/** What a path of ours is made of; a query may be encoded, a path never needs to be. */
const SAFE_PATH = /^(\/|(\/[A-Za-z0-9._~:@!$&'()*+,=-]+)+)$/

/**
 * Looks at a request target before anything decodes or normalises it. `.../a/credentials/x/mint/..%2f..%2fb/…` is
 * authorised by a proxy as one object and collapses to another in `new URL` (RFC 3986, section 5.2.4), so that a path
 * with `%`, empty or dot segments, `;` or a backslash is refused rather than interpreted.
 */
export function checkTarget(target: string): Result<undefined> {
  const [path = ''] = target.split('?', 1)
  const dotted = path.split('/').some((segment) => segment === '.' || segment === '..')
  if (SAFE_PATH.test(path) && !dotted) return ok(undefined)
  return fail({
    reason: 'request_malformed',
    message:
      'the path must be absolute, without percent-encoding, empty or dot segments, ";" and "\\", and without a slash at its end',
  })
}
