import type { MiddlewareHandler } from 'hono'
import type { Deps } from '../core/deps.ts'
import { secondsBetween } from '../core/metrics.ts'
import type { AppEnv } from './services.ts'

/**
 * Counts and times every request but those of probes, by what the route that was found and its handler have set.
 * The first in line, so that it sees whatever is answered after it.
 */
export const measure =
  ({ now, metrics }: Pick<Deps, 'now' | 'metrics'>): MiddlewareHandler<AppEnv> =>
  async (c, next) => {
    const startedAt = now()
    // What is thrown past this, no Error, is answered so.
    let code = 500
    try {
      await next()
      code = c.res.status
    } finally {
      const { verb = 'other', kind = '' } = c.var
      if (verb !== 'health') metrics.request({ verb, code, kind }, secondsBetween(startedAt, now()))
    }
  }
