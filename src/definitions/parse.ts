import { fingerprint } from '../core/fingerprint.ts'
import { canonicalJson, filledAt, isObject, type Json, own, parseJson, textAt } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { NamedFormat } from '../formats/format.ts'
import { formats } from '../formats/index.ts'
import { isDnsSubdomain } from '../k8s/names.ts'
import type { ApplicationDefinition } from '../k8s/objects.ts'
import { ROOT, readBlock, type Wrong } from './block.ts'
import { labelProblem } from './labels.ts'
import type { BoundSource, CredentialRules, Legacy } from './rules.ts'
import { selectsAccountSecrets } from './secret-selectors.ts'
import { sourceKinds } from './sources/index.ts'
import { PATH_PATTERN, readPath } from './values.ts'
import { NO_WEBHOOKS, type WebhookContext, type Webhooks } from './webhook.ts'
import { readWebhookFormat } from './webhook-format.ts'

const FIELDS = ['format', 'secretLabels', 'valuesPath', 'accounts', 'legacy']

/**
 * The rules in `spec.credentials` of a definition, or in its annotation `credentials.cozystack.io/definition`. Undefined
 * when it has none: the kind is not served. Fails with `definition_wrong`, closed and by field: an unknown field may be
 * a rule of a newer version, and a platform account that it would have declared.
 */
export function parseRules(
  definition: ApplicationDefinition,
  webhooks: Webhooks = NO_WEBHOOKS,
): Result<CredentialRules | undefined> {
  const name = definition.metadata.name
  const context = { definition: name, webhooks }
  const wrong: Wrong = (field, problem) =>
    fail({ reason: 'definition_wrong', definition: name, field, problem })
  const block = readBlock(definition, wrong)
  if (!block.ok) return block
  if (block.value === undefined) return ok(undefined)
  if (Object.hasOwn(block.value, 'status')) return wrong(`${ROOT}.status`, 'is reserved')
  const known = checkFields(block.value, FIELDS, ROOT, wrong)
  if (!known.ok) return known

  const format = readFormat(own(block.value, 'format'), context, wrong)
  if (!format.ok) return format
  const secretLabels = readSecretLabels(own(block.value, 'secretLabels') ?? {}, wrong)
  if (!secretLabels.ok) return secretLabels
  const valuesPath = readValuesPath(own(block.value, 'valuesPath'), format.value, wrong)
  if (!valuesPath.ok) return valuesPath
  const sources = readSources(own(block.value, 'accounts'), context, wrong)
  if (!sources.ok) return sources
  const legacy = readLegacy(own(block.value, 'legacy'), wrong)
  if (!legacy.ok) return legacy

  const kind = textAt(definition.spec, 'application', 'kind') ?? ''
  if (selectsAccountSecrets(own(definition.spec, 'secrets'), kind, secretLabels.value)) {
    return wrong('spec.secrets', 'selects account Secrets, which no tenant may read')
  }
  return ok({
    definition: name,
    plural: filledAt(definition.spec, 'application', 'plural'),
    format: format.value,
    secretLabels: secretLabels.value,
    valuesPath: valuesPath.value,
    legacy: legacy.value,
    sources: sources.value,
    schema: schemaOf(definition),
    declaredBy: declaredByOf(own(block.value, 'accounts'), schemaOf(definition)),
  })
}

function checkFields(value: Json, fields: readonly string[], path: string, wrong: Wrong): Result<undefined> {
  const unknown = Object.keys(value).find((field) => !fields.includes(field))
  if (unknown === undefined) return ok(undefined)
  // What somebody wrote must not write lines of its own where it is shown.
  const name = /^[\w-]+$/.test(unknown) ? `.${unknown}` : `[${JSON.stringify(unknown)}]`
  return wrong(`${path}${name}`, 'unknown field')
}

function readFormat(value: unknown, context: WebhookContext, wrong: Wrong): Result<NamedFormat> {
  const path = `${ROOT}.format`
  if (!isObject(value)) return wrong(path, 'required: an object such as {name: scram-sha-256}')
  const kind = own(value, 'kind') ?? 'BuiltIn'
  if (kind !== 'BuiltIn' && kind !== 'Webhook') return wrong(`${path}.kind`, 'must be BuiltIn or Webhook')
  const fields = ['kind', 'name', ...(kind === 'Webhook' ? ['webhook'] : [])]
  const known = checkFields(value, fields, path, wrong)
  if (!known.ok) return known
  if (kind === 'Webhook') {
    const read = readWebhookFormat(value, path, context)
    return read.ok ? ok(read.format) : wrong(read.field, read.problem)
  }
  const format = formats.get(textAt(value, 'name') ?? '')
  return format === undefined
    ? wrong(`${path}.name`, `unknown format; known are ${[...formats.keys()].join(', ')}`)
    : ok(format)
}

function readSecretLabels(value: unknown, wrong: Wrong): Result<Readonly<Record<string, string>>> {
  if (!isObject(value)) return wrong(`${ROOT}.secretLabels`, 'must be a map of strings')
  for (const key of Object.keys(value)) {
    const problem = labelProblem(key, own(value, key))
    if (problem !== undefined) return wrong(`${ROOT}.secretLabels[${JSON.stringify(key)}]`, problem)
  }
  return ok(value as Readonly<Record<string, string>>)
}

/** Helm history keeps values for ever, and tenants cannot set a key that starts with `_`. */
function readValuesPath(value: unknown, format: NamedFormat, wrong: Wrong): Result<string | undefined> {
  const path = `${ROOT}.valuesPath`
  if (value === undefined) return ok(undefined)
  if (typeof value !== 'string' || !PATH_PATTERN.test(value)) return wrong(path, 'must be dotted names')
  if (!value.startsWith('_')) return wrong(path, 'must start with "_", which tenants cannot set')
  if (format.storesPlaintext)
    return wrong(path, `format ${format.name} would put passwords into Helm history`)
  if (format.neverInValues)
    return wrong(path, `values of format ${format.name} would reach the chart as something else`)
  return ok(value)
}

const MAX_SOURCES = 64
const MAX_EXPRESSIONS = 4

function readSources(value: unknown, context: WebhookContext, wrong: Wrong): Result<readonly BoundSource[]> {
  const path = `${ROOT}.accounts`
  if (!Array.isArray(value) || value.length === 0) return wrong(path, 'required: at least one account source')
  if (value.length > MAX_SOURCES) return wrong(path, `must have at most ${MAX_SOURCES} items`)
  // Each may use up the whole budget of an evaluation, for every release that is looked at.
  if (value.filter((entry) => textAt(entry, 'kind') === 'Expression').length > MAX_EXPRESSIONS) {
    return wrong(path, `must have at most ${MAX_EXPRESSIONS} expressions`)
  }
  const sources: BoundSource[] = []
  for (const [index, entry] of value.entries()) {
    const source = readSource(entry, `${path}[${index}]`, context, wrong)
    if (!source.ok) return source
    sources.push(source.value)
  }
  return ok(sources)
}

function readSource(
  entry: unknown,
  path: string,
  context: WebhookContext,
  wrong: Wrong,
): Result<BoundSource> {
  if (!isObject(entry)) return wrong(path, 'must be an object')
  const kind = textAt(entry, 'kind') ?? ''
  const source = sourceKinds.get(kind)
  if (source === undefined) return wrong(`${path}.kind`, `known are ${[...sourceKinds.keys()].join(', ')}`)
  const fields = checkFields(entry, ['kind', ...source.fields], path, wrong)
  if (!fields.ok) return fields
  const parsed = source.parse(entry, path, context)
  return parsed.ok ? ok(parsed.source) : wrong(parsed.field, parsed.problem)
}

/** By default the Secret that the platform's charts made, with the username as key. */
function readLegacy(value: unknown, wrong: Wrong): Result<Legacy> {
  const path = `${ROOT}.legacy`
  const block = value ?? {}
  if (!isObject(block)) return wrong(path, 'must be an object')
  const known = checkFields(block, ['secretName', 'key'], path, wrong)
  if (!known.ok) return known
  const secretName = own(block, 'secretName') ?? '{release}-credentials'
  const key = own(block, 'key') ?? undefined
  if (!isNameTemplate(secretName)) {
    return wrong(`${path}.secretName`, 'must be the name of a Secret, such as {release}-auth')
  }
  if (key !== undefined && (typeof key !== 'string' || !SECRET_KEY.test(key))) {
    return wrong(`${path}.key`, 'must be a key of a Secret')
  }
  return ok({
    secretName: (release) => secretName.replaceAll('{release}', release),
    key: (username) => key ?? username,
  })
}

const SECRET_KEY = /^[-._a-zA-Z0-9]{1,253}$/

const LONGEST_RELEASE = 'r'.repeat(63)

/** Whether it makes the name of a Secret of any release. */
const isNameTemplate = (value: unknown): value is string =>
  typeof value === 'string' && isDnsSubdomain(value.replaceAll('{release}', LONGEST_RELEASE))

/** The sources as they are written, and the defaults that switch them on and off. */
function declaredByOf(accounts: unknown, schema: Json | undefined): string {
  const switches = (Array.isArray(accounts) ? accounts : []).map((entry) => {
    const when = textAt(entry, 'when')
    return when === undefined ? null : (readPath({}, when, schema) ?? null)
  })
  return fingerprint(canonicalJson({ accounts, switches }) ?? '')
}

function schemaOf({ spec }: ApplicationDefinition): Json | undefined {
  const schema = parseJson(textAt(spec, 'application', 'openAPISchema') ?? '')
  return isObject(schema) ? schema : undefined
}
