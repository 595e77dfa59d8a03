import { credentialOperationsOf, type Operation, type Parameter } from './openapi-operations.ts'
import { type Schema, schemaRef } from './openapi-schema.ts'
import { schemasOf } from './openapi-schemas.ts'
import { syncOperationsOf } from './openapi-sync.ts'
import { API_VERSION, type Services } from './services.ts'

type Described = Pick<Services, 'group' | 'version' | 'anchors'>

const JSON_TYPE = 'application/json'
const SECURITY = [{ BearerToken: [] }]
const infoOf = (version: string) => ({
  title: 'mintonce',
  description: 'Mints passwords for managed applications, and shows each one once.',
  version,
})

/** OpenAPI 3.0. */
export function openApiV3(services: Described): unknown {
  const { group, version } = services
  return {
    openapi: '3.0.0',
    info: infoOf(version),
    paths: pathsOf(operationsOf(services), (operation) => ({
      ...commonOf(group, operation),
      parameters: operation.parameters.map(({ type, enum: values, ...parameter }) => ({
        ...requiredOf(parameter),
        ...parameter,
        schema: { type, ...(values === undefined ? {} : { enum: values }) },
      })),
      ...(operation.body === undefined
        ? {}
        : { requestBody: { required: false, content: contentOf(schemaRef(group, operation.body)) } }),
      responses: responsesOf(group, operation, (description, schema) => ({
        description,
        content: contentOf(schema),
      })),
    })),
    components: {
      schemas: schemasOf(group),
      securitySchemes: { BearerToken: { type: 'http', scheme: 'bearer' } },
    },
    security: SECURITY,
  }
}

/** OpenAPI 2.0, which kube-apiserver merges with its own. It knows no bearer scheme, and calls it a header. */
export function openApiV2(services: Described): unknown {
  const { group, version } = services
  return {
    swagger: '2.0',
    info: infoOf(version),
    paths: pathsOf(operationsOf(services), (operation) => ({
      ...commonOf(group, operation),
      consumes: [JSON_TYPE],
      produces: [JSON_TYPE],
      schemes: ['https'],
      parameters: [
        ...(operation.body === undefined
          ? []
          : [{ in: 'body', name: 'body', required: false, schema: toV2(schemaRef(group, operation.body)) }]),
        ...operation.parameters.map((parameter) => ({ ...requiredOf(parameter), ...parameter })),
      ],
      responses: responsesOf(group, operation, (description, schema) => ({
        description,
        schema: toV2(schema),
      })),
    })),
    definitions: Object.fromEntries(
      Object.entries(schemasOf(group)).map(([name, schema]) => [name, toV2(schema)]),
    ),
    securityDefinitions: {
      BearerToken: {
        type: 'apiKey',
        in: 'header',
        name: 'authorization',
        description: 'Bearer token authentication.',
      },
    },
    security: SECURITY,
  }
}

const operationsOf = (services: Described): readonly Operation[] => [
  ...credentialOperationsOf(services.group),
  ...syncOperationsOf(services),
]

function pathsOf(operations: readonly Operation[], render: (operation: Operation) => object): object {
  return Object.fromEntries(
    operations.map((operation) => [operation.path, { [operation.method]: render(operation) }]),
  )
}

const commonOf = (group: string, { id, description, action, subject }: Operation) => ({
  operationId: id,
  description,
  tags: [`${group.replaceAll('.', '_')}_${API_VERSION}`],
  'x-kubernetes-action': action,
  'x-kubernetes-group-version-kind': subject,
})

const requiredOf = (parameter: Pick<Parameter, 'in'>) => (parameter.in === 'path' ? { required: true } : {})

const contentOf = (schema: Schema) => ({ [JSON_TYPE]: { schema } })

function responsesOf(
  group: string,
  { success, failures }: Operation,
  render: (description: string, schema: Schema) => object,
): object {
  return Object.fromEntries([
    [success.code, render(success.description, schemaRef(group, success.kind))],
    ...Object.entries(failures).map(([code, description]) => [
      code,
      render(description, schemaRef(group, 'Status')),
    ]),
  ])
}

/**
 * A schema of OpenAPI 3.0 as kube-apiserver writes it in 2.0: a description stands beside its `$ref`, since tools that
 * read 2.0 look for the name there and not in `allOf` (`k8s.io/kube-openapi/pkg/util/proto`).
 */
function toV2(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toV2)
  if (typeof schema !== 'object' || schema === null) return schema
  const { allOf, $ref, ...rest } = schema as Schema
  const [only] = allOf ?? []
  const target = $ref ?? only?.$ref
  return {
    ...Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, toV2(value)])),
    ...(target === undefined ? {} : { $ref: target.replace('#/components/schemas/', '#/definitions/') }),
  }
}
