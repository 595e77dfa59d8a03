import { API_VERSION } from './services.ts'

/** The part of an OpenAPI 3.0 Schema Object that is used here. */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer'
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema
  readonly items?: Schema
  readonly allOf?: readonly Schema[]
  readonly readOnly?: boolean
  readonly $ref?: string
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[]
}

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

export type Kind = 'Credential' | 'CredentialList' | 'CredentialRequest'

export const kindIn = (group: string, kind: Kind): GroupVersionKind => ({ group, version: API_VERSION, kind })

/** As Kubernetes names definitions: `io.cozystack.credentials.v1alpha1.Credential`. */
export const schemaName = (group: string, name: string): string =>
  [...group.split('.').toReversed(), API_VERSION, name].join('.')

export const schemaRef = (group: string, name: string): Schema => ({
  $ref: `#/components/schemas/${schemaName(group, name)}`,
})

export const text = (description: string, more: Schema = {}): Schema => ({
  type: 'string',
  description,
  ...more,
})
export const time = (description: string): Schema => text(description, { format: 'date-time' })

export const object = (
  description: string,
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
): Schema => ({
  type: 'object',
  description,
  ...(required.length === 0 ? {} : { required }),
  properties,
})

/** What a description stands beside has to be wrapped: nothing beside `$ref` counts (OpenAPI 3.0.3, "Reference Object"). */
export const described = (group: string, name: string, description: string, more: Schema = {}): Schema => ({
  description,
  allOf: [schemaRef(group, name)],
  ...more,
})

export const typeMeta = (group: string, kind: Kind) => ({
  apiVersion: text(`The version of this representation: ${group}/${API_VERSION}.`),
  kind: text(`The kind of this object: ${kind}.`),
})

export const ofKind = (group: string, kind: Kind, schema: Schema): Schema => ({
  ...schema,
  'x-kubernetes-group-version-kind': [kindIn(group, kind)],
})
