import { isObject, isSameJson, type Json, own, parseJson, textAt } from '../core/json.ts'
import { type Failed, ok, type Result } from '../core/result.ts'
import { duplicateFields } from '../core/strict-json.ts'
import type { ApplicationDefinition } from '../k8s/objects.ts'

/** The block as JSON, for a definition whose CRD prunes the field. */
const DEFINITION_ANNOTATION = 'credentials.cozystack.io/definition'

export const ROOT = 'spec.credentials'

/** A reader of one definition: fails with its name and the field. */
export type Wrong = (field: string, problem: string) => Failed

/**
 * The block of a definition as somebody wrote it: the field, or the annotation. Undefined when it has neither. Both may
 * stand side by side while a CRD is being upgraded, as long as they say the same.
 */
export function readBlock({ metadata, spec }: ApplicationDefinition, wrong: Wrong): Result<Json | undefined> {
  const field = own(spec, 'credentials') ?? undefined
  if (field !== undefined && !isObject(field)) return wrong(ROOT, 'must be an object')
  const annotation = textAt(metadata, 'annotations', DEFINITION_ANNOTATION)
  if (annotation === undefined) return ok(field)

  const where = `metadata.annotations[${DEFINITION_ANNOTATION}]`
  const annotated = parseJson(annotation)
  if (!isObject(annotated)) return wrong(where, 'must be a JSON object')
  const [duplicate] = duplicateFields(annotation)
  if (duplicate !== undefined) return wrong(where, `gives ${duplicate} twice`)
  if (field !== undefined && !isSameJson(field, annotated)) {
    return wrong(where, `differs from ${ROOT}: remove one of them`)
  }
  return ok(annotated)
}
