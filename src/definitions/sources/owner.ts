import { type Json, own } from '../../core/json.ts'
import type { Owner } from '../rules.ts'

/** Whose account an entry declares: the tenant's unless it says `platform`. Undefined for any other word. */
export function ownerOf(entry: Json): Owner | undefined {
  const owner = own(entry, 'owner') ?? 'tenant'
  return owner === 'tenant' || owner === 'platform' ? owner : undefined
}
