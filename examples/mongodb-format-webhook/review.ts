import { scramDocument } from './scram.ts'

const API_VERSION = 'credentials.cozystack.io/v1alpha1'
/** The name that a definition gives the format. */
const FORMAT = 'mongodb-scram-sha-256'

/** Answers a FormatReview; undefined for whatever is none, or is not for this format. */
export function answerReview(body: string): object | undefined {
  const { apiVersion, kind, request } = parse(body)
  if (apiVersion !== API_VERSION || kind !== 'FormatReview') return undefined
  const { uid, format, password } = fieldsOf(request)
  if (typeof uid !== 'string' || format !== FORMAT || typeof password !== 'string') return undefined
  if (!/^[\x20-\x7e]+$/.test(password)) return undefined
  // One line of text: it goes into a Secret as it is.
  const value = JSON.stringify(scramDocument(password))
  return { apiVersion, kind, response: { uid, value } }
}

function parse(body: string): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(JSON.parse(body))
  } catch {
    return {}
  }
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
