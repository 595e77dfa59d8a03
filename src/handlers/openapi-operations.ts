import { type GroupVersionKind, type Kind, kindIn } from './openapi-schema.ts'
import { API_VERSION } from './services.ts'

/** One call, in no version of OpenAPI. */
export interface Operation {
  readonly path: string
  readonly method: 'get' | 'post'
  readonly id: string
  readonly description: string
  /** `x-kubernetes-action`. */
  readonly action: 'get' | 'list' | 'post'
  readonly subject: GroupVersionKind
  readonly parameters: readonly Parameter[]
  /** The body, which may be left out. */
  readonly body?: Kind
  readonly success: { readonly code: 200 | 201; readonly description: string; readonly kind: Kind | 'Status' }
  /** Codes that are answered with a Status, and when. */
  readonly failures: Readonly<Record<string, string>>
}

export interface Parameter {
  readonly in: 'path' | 'query'
  readonly name: string
  readonly description: string
  readonly type: 'string' | 'integer'
  readonly enum?: readonly string[]
}

/** The codes that a call may answer with; whatever else goes wrong is a Status too. */
const FAILURES = {
  400: 'The path, the query or the body is malformed. The message names the place.',
  401: 'No credentials, or none that are accepted.',
  403: 'The caller may not do that.',
  404: 'There is no such credential.',
  406: 'Nothing that the Accept header names is served.',
  409: 'Somebody was faster, a precondition does not hold, or something stands in the way. Nothing was stored.',
  410: 'The continue token is too old: start the list again.',
  413: 'The body is larger than 64 KiB.',
  415: 'The body is no JSON.',
  422: 'A precondition or the username is invalid.',
  429: 'The Kubernetes API is overloaded. Nothing was stored.',
  500: 'A mistake of the platform, or the answer to the write was lost: when the message says that the password may have been replaced, mint again.',
  503: 'The Kubernetes API or an issuer of tokens did not answer. Nothing was stored.',
  504: 'The time was over. Nothing was stored.',
  default: 'Another failure.',
} as const

type Code = keyof typeof FAILURES
export const failuresOf = (codes: readonly Code[]): Operation['failures'] =>
  Object.fromEntries(codes.map((code) => [code, FAILURES[code]]))

const READ_FAILURES = failuresOf([400, 401, 403, 406, 429, 500, 503, 504, 'default'])
const GET_FAILURES = { ...READ_FAILURES, ...failuresOf([404]) }
const LIST_FAILURES = { ...READ_FAILURES, ...failuresOf([410]) }
const ISSUE_FAILURES = failuresOf([400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503, 504, 'default'])

const query = (name: string, description: string, more: Partial<Parameter> = {}): Parameter => ({
  in: 'query',
  name,
  description,
  type: 'string',
  ...more,
})

export const NAMESPACE: Parameter = {
  in: 'path',
  name: 'namespace',
  description: 'The namespace of the application and its credentials.',
  type: 'string',
}
const NAME: Parameter = {
  in: 'path',
  name: 'name',
  description: 'The name of the Credential: <release>.<account>, such as postgres-orders.web.',
  type: 'string',
}
const PRETTY = query('pretty', 'Taken for the sake of clients, and without effect.')
const INCLUDE_OBJECT = query(
  'includeObject',
  'What the rows of a Table hold beside their cells. Metadata when it is left out.',
  { enum: ['None', 'Metadata', 'Object'] },
)

const LIST_PARAMETERS: readonly Parameter[] = [
  NAMESPACE,
  query(
    'labelSelector',
    'Which credentials, by the labels apps.cozystack.io/application.group, .kind and .name.',
  ),
  query('fieldSelector', 'Which credentials, by metadata.name and metadata.namespace.'),
  query('limit', 'How many entries a page may have at most.', { type: 'integer' }),
  query('continue', 'The metadata.continue of the page before.'),
  query('resourceVersion', 'Taken for the sake of clients: a list is always of the newest state.'),
  query('resourceVersionMatch', 'Only what the newest state satisfies.', { enum: ['NotOlderThan'] }),
  INCLUDE_OBJECT,
  PRETTY,
]

export const IGNORED: readonly Parameter[] = [
  query('fieldManager', 'Taken for the sake of clients, and without effect.'),
  query('timeout', 'Taken for the sake of clients, and without effect.'),
  PRETTY,
]

const ISSUE_PARAMETERS: readonly Parameter[] = [
  NAMESPACE,
  NAME,
  query('dryRun', 'All: everything is checked, nothing changes, and no password is shown.', {
    enum: ['All'],
  }),
  query(
    'fieldValidation',
    'What happens to unknown and repeated fields of the body: refused (Strict, when it is left out), warned about, or ignored.',
    { enum: ['Strict', 'Warn', 'Ignore'] },
  ),
  ...IGNORED,
]

const AS_TABLE =
  'With application/json;as=Table;v=v1;g=meta.k8s.io in the Accept header the answer is a meta.k8s.io/v1 Table.'

/** Every call to do with credentials, as `handlers/credentials.ts` and `handlers/issue.ts` answer them. */
export function credentialOperationsOf(group: string): readonly Operation[] {
  const list = `/apis/${group}/${API_VERSION}/namespaces/{namespace}/credentials`
  const idOf = (verb: string, what: string) => idIn(group, verb, what)
  const credential = kindIn(group, 'Credential')
  return [
    {
      path: list,
      method: 'get',
      id: idOf('list', 'Credential'),
      description: `List the credentials of one namespace. ${AS_TABLE} There is no watch, and no list of all namespaces.`,
      action: 'list',
      subject: credential,
      parameters: LIST_PARAMETERS,
      success: { code: 200, description: 'The credentials. No passwords.', kind: 'CredentialList' },
      failures: LIST_FAILURES,
    },
    {
      path: `${list}/{name}`,
      method: 'get',
      id: idOf('read', 'Credential'),
      description: `Read one credential. ${AS_TABLE}`,
      action: 'get',
      subject: credential,
      parameters: [NAMESPACE, NAME, INCLUDE_OBJECT, PRETTY],
      success: { code: 200, description: 'The credential. No password.', kind: 'Credential' },
      failures: GET_FAILURES,
    },
    issueOperation(group, `${list}/{name}/mint`, idOf('create', 'CredentialMint'), {
      description:
        'Replace the password by a new one and show it, once: the answer contains it in clear text. Not idempotent: ' +
        'every call is another password, so no client may repeat it by itself.',
      success: 'The new password is stored. The answer contains it, unless this was a dry run.',
    }),
    issueOperation(group, `${list}/{name}/revoke`, idOf('create', 'CredentialRevoke'), {
      description:
        'Replace the password by one that nobody has seen, so that nobody can log in until the next mint. The answer ' +
        'contains no password.',
      success: 'The password is replaced. The answer contains none.',
    }),
  ]
}

const issueOperation = (
  group: string,
  path: string,
  id: string,
  { description, success }: { readonly description: string; readonly success: string },
): Operation => ({
  path,
  method: 'post',
  id,
  description,
  action: 'post',
  subject: kindIn(group, 'CredentialRequest'),
  parameters: ISSUE_PARAMETERS,
  body: 'CredentialRequest',
  success: { code: 201, description: success, kind: 'CredentialRequest' },
  failures: ISSUE_FAILURES,
})

/** The `operationId` of a call in a namespace. */
export const idIn = (group: string, verb: string, what: string): string =>
  `${verb}${camel(group)}${camel(API_VERSION)}Namespaced${what}`

/** `credentials.cozystack.io` as `CredentialsCozystackIo`. */
const camel = (text: string): string =>
  text
    .split(/[.-]/)
    .map((part) => `${part.slice(0, 1).toUpperCase()}${part.slice(1)}`)
    .join('')
