import type { HeaderFields } from '../core/http.ts'
import { isObject, own, parseJson, textAt } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { fromBase64, fromUtf8 } from '../core/text.ts'
import { mediaTypeOf } from './body.ts'

/** A CloudEvent 1.0, as far as anything here looks into it. */
export interface CloudEvent {
  readonly type: string
  /** An extension attribute that is a text. Names are in lower case. */
  readonly attribute: (name: string) => string | undefined
  /** Undefined when there is none, or when it is no JSON. Not read before it is asked for. */
  readonly data: unknown
}

/** How events lie in a request (CloudEvents HTTP protocol binding 1.0.2, section 3). */
export type ContentMode = 'binary' | 'structured' | 'batched'

/** More are refused: none of the sources that there are sends batches at all. */
const MAX_EVENTS = 1000
const REQUIRED = ['id', 'source', 'type'] as const

export function contentModeOf(headers: HeaderFields): ContentMode {
  const mediaType = mediaTypeOf(headers.get('content-type') ?? '')
  if (mediaType.startsWith('application/cloudevents-batch')) return 'batched'
  return mediaType.startsWith('application/cloudevents') ? 'structured' : 'binary'
}

/**
 * The events of a request: one, or those of a batch. By hand: nothing is made of an event but a name to look up. Fails
 * with `request_malformed` for what is no CloudEvent of version 1.0, whole batches included, and with
 * `media_type_unsupported` for another event format than JSON.
 */
export function parseCloudEvents(headers: HeaderFields, body: Uint8Array): Result<readonly CloudEvent[]> {
  const mode = contentModeOf(headers)
  if (mode === 'binary') return asList(binaryEvent(headers, body))
  const contentType = headers.get('content-type') ?? ''
  if (!mediaTypeOf(contentType).endsWith('+json')) {
    return fail({ reason: 'media_type_unsupported', contentType })
  }
  const parsed = parseJson(fromUtf8(body) ?? '')
  return mode === 'structured' ? asList(jsonEvent(parsed)) : batchOf(parsed)
}

const asList = (event: Result<CloudEvent>): Result<readonly CloudEvent[]> =>
  event.ok ? ok([event.value]) : event

const malformed = (message: string): Result<never> => fail({ reason: 'request_malformed', message })

function batchOf(parsed: unknown): Result<readonly CloudEvent[]> {
  if (!Array.isArray(parsed)) return malformed('the body must be a JSON array of CloudEvents')
  if (parsed.length > MAX_EVENTS) return malformed(`a batch may have at most ${MAX_EVENTS} events`)
  const events: CloudEvent[] = []
  for (const item of parsed) {
    const event = jsonEvent(item)
    if (!event.ok) return event
    events.push(event.value)
  }
  return ok(events)
}

/** Attributes in headers, data in the body (section 3.1). */
function binaryEvent(headers: HeaderFields, body: Uint8Array): Result<CloudEvent> {
  const attribute = (name: string) => headerAttribute(headers, name)
  return checked(attribute, () => (isJsonType(headers.get('content-type')) ? jsonIn(body) : undefined))
}

/**
 * The attribute of an event in binary mode. Quotes are taken off, and one round of percent-encoding is undone (section
 * 3.1.3.2).
 */
export function headerAttribute(headers: HeaderFields, name: string): string | undefined {
  const value = headers.get(`ce-${name}`)
  if (value === null) return undefined
  const quoted = /^"(.*)"$/.exec(value)?.[1]
  const text = quoted === undefined ? value : quoted.replace(/\\(.)/g, '$1')
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The JSON event format (1.0.2, section 3). */
function jsonEvent(event: unknown): Result<CloudEvent> {
  if (!isObject(event)) return malformed('an event must be a JSON object')
  return checked(
    (name) => textAt(event, name),
    () => {
      if (!isJsonType(textAt(event, 'datacontenttype') ?? null)) return undefined
      const bytes = fromBase64(textAt(event, 'data_base64') ?? '')
      return own(event, 'data') ?? jsonIn(bytes ?? new Uint8Array())
    },
  )
}

/** No type at all means JSON. */
function isJsonType(contentType: string | null): boolean {
  if (contentType === null) return true
  const mediaType = mediaTypeOf(contentType)
  return mediaType.endsWith('/json') || mediaType.endsWith('+json')
}

const jsonIn = (bytes: Uint8Array): unknown => parseJson(fromUtf8(bytes) ?? '')

/** The attributes that every event has (specification 1.0.2, "Required Attributes"). */
function checked(attribute: CloudEvent['attribute'], readData: () => unknown): Result<CloudEvent> {
  if (attribute('specversion') !== '1.0') {
    return malformed('this is no CloudEvent of version 1.0: specversion must be "1.0"')
  }
  const missing = REQUIRED.find((name) => !attribute(name))
  if (missing !== undefined) return malformed(`this is no CloudEvent: ${missing} is missing`)
  return ok({
    type: attribute('type') ?? '',
    attribute,
    get data() {
      return readData()
    },
  })
}
