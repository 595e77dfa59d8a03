import type { HttpAnswer } from '../core/http.ts'
import { cutBytes, encodeData } from '../core/text.ts'
import type { Refusal, Verdict } from '../credentials/verdict.ts'
import { said } from '../credentials/written.ts'
import { REVIEW_VERSION } from './admission-review.ts'
import { json } from './answer.ts'
import { toStatus } from './status.ts'
import type { Details } from './status-answer.ts'

/** `k8s.io/api/admission/v1` AdmissionResponse: longer ones, and many, may be cut by the API server. */
const MAX_WARNING_BYTES = 256
const MAX_WARNINGS = 10
const MAX_CAUSES = 16
const MAX_MESSAGE_BYTES = 2048

/** `metav1.Status`, as far as a webhook fills it in. */
interface RefusedStatus {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly details?: Details
}

/** The answer to a review: 200 whatever it says. */
export function answerReview(uid: string, verdict: Verdict, group: string): HttpAnswer {
  const warnings = warningsOf(verdict.warnings)
  const response = {
    uid,
    allowed: verdict.is === 'allowed',
    ...(verdict.is === 'refused' ? { status: statusOfRefusal(verdict.refusal, group) } : {}),
    ...(verdict.is === 'allowed' && verdict.patch.length > 0
      ? { patchType: 'JSONPatch', patch: encodeData(JSON.stringify(verdict.patch)) }
      : {}),
    ...(warnings.length > 0 ? { warnings } : {}),
  }
  return json({ apiVersion: REVIEW_VERSION, kind: 'AdmissionReview', response })
}

function warningsOf(warnings: readonly string[]): readonly string[] {
  const different = [...new Set(warnings)]
  const more = different.length - MAX_WARNINGS
  const shown = more > 0 ? different.slice(0, MAX_WARNINGS - 1) : different
  const rest = more > 0 ? [`and ${more + 1} more like these`] : []
  return [...shown.map((each) => cutBytes(each, MAX_WARNING_BYTES)), ...rest]
}

export function statusOfRefusal(refusal: Refusal, group: string): RefusedStatus {
  switch (refusal.is) {
    case 'invalid': {
      const { group: of, kind, name } = refusal.application
      const causes = refusal.causes.slice(0, MAX_CAUSES)
      return {
        code: 422,
        reason: 'Invalid',
        message: cut(`${kind}.${of} ${JSON.stringify(name)} is invalid: ${causes.map(said).join(', ')}`),
        // The fields are the application's: kubectl puts its name in front of them.
        details: { name, group: of, kind, causes },
      }
    }
    case 'raced':
      return { code: 409, reason: 'Conflict', message: cut(refusal.message) }
    // No conflict: clients try one again and again by themselves.
    case 'forbidden':
      return { code: 403, reason: 'Forbidden', message: cut(refusal.messages.join('; ')) }
    case 'failed': {
      const { code, reason, message } = toStatus(refusal.failure, group)
      return { code, reason, message: cut(`${refusal.what}: ${message}`) }
    }
  }
}

const cut = (message: string): string => cutBytes(message, MAX_MESSAGE_BYTES)
