import { described, object, type Schema, schemaRef, text, time } from './openapi-schema.ts'

/** Copies of what Kubernetes has of these, with the fields that are really there. */
export function metaSchemas(group: string): Readonly<Record<string, Schema>> {
  return {
    ObjectMeta: object(
      'ObjectMeta is the part of the metadata of Kubernetes objects that a credential has.',
      {
        name: text('The name of the credential: <release>.<account>.'),
        namespace: text('The namespace of the credential, its application and its Secret.'),
        uid: text(
          'The identity of the account: another one after the application was deleted and made again.',
        ),
        resourceVersion: text(
          'Changes whenever the credential does. Good for preconditions, and for nothing else.',
        ),
        creationTimestamp: time('When the account was created, in UTC.'),
        labels: {
          type: 'object',
          description:
            'The application, by the labels apps.cozystack.io/application.group, .kind and .name. A labelSelector may ' +
            'name these only.',
          additionalProperties: { type: 'string' },
        },
      },
      // None is required: kubectl would check that before a create is told that there is none.
    ),
    ListMeta: object(
      'ListMeta is the part of the metadata of Kubernetes lists that this one has.',
      {
        resourceVersion: text('The version of the list.'),
        continue: text('The token that the next page is asked for with. Absent on the last page.'),
      },
      ['resourceVersion'],
    ),
    ...statusSchemas(group),
  }
}

function statusSchemas(group: string): Readonly<Record<string, Schema>> {
  return {
    Status: object(
      'Status is the answer to a call that failed, and to a sync that did not, as everywhere in Kubernetes.',
      {
        apiVersion: text('v1'),
        kind: text('Status'),
        metadata: { type: 'object', description: 'Empty.' },
        status: text('Failure, or Success.'),
        message: text('What went wrong, and what to do; or what was done.'),
        reason: text('The same for programs, such as Conflict. Absent after a success.'),
        details: described(group, 'StatusDetails', 'What it is about.'),
        code: { type: 'integer', format: 'int32', description: 'The HTTP status.' },
      },
      ['status', 'message', 'code'],
    ),
    StatusDetails: object('StatusDetails says what a failure or a success is about.', {
      name: text('The name of the object.'),
      group: text('Its API group.'),
      kind: text('Its kind, or the plural of its resource.'),
      causes: {
        type: 'array',
        description: 'Each single thing that is wrong; or each count of what was done.',
        items: schemaRef(group, 'StatusCause'),
      },
      retryAfterSeconds: {
        type: 'integer',
        format: 'int32',
        description: 'How long to wait before the next try. Only where nothing was stored.',
      },
    }),
    StatusCause: object(
      'StatusCause is one thing that is wrong, or one count.',
      {
        reason: text(
          'The same for programs, such as FieldValueInvalid; or what is counted, such as Created.',
        ),
        message: text('What is wrong, or the number.'),
        field: text('Where, such as spec.preconditions.uid.'),
      },
      ['reason', 'message'],
    ),
  }
}
