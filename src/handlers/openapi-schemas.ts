import { metaSchemas } from './openapi-meta-schemas.ts'
import {
  described,
  object,
  ofKind,
  type Schema,
  schemaName,
  schemaRef,
  text,
  time,
  typeMeta,
} from './openapi-schema.ts'

type Schemas = Readonly<Record<string, Schema>>

/**
 * Every schema, by its name. Metadata and Status are copies of our own under names of our own, with the fields that are
 * really there: those of Kubernetes differ from one release to the next, and kube-apiserver renames definitions of one
 * name and two contents when it merges them (`k8s.io/kube-openapi/pkg/aggregator`).
 */
export function schemasOf(group: string): Schemas {
  const local = { ...credentialSchemas(group), ...requestSchemas(group), ...metaSchemas(group) }
  return Object.fromEntries(Object.entries(local).map(([name, schema]) => [schemaName(group, name), schema]))
}

const ORIGIN =
  'Who can know the password that works now. NotIssued: nobody, it was made up and thrown away. Migrated: whoever knew ' +
  'the password from before passwords were minted. Minted: whom it was shown to, once. Revoked: nobody any more.'

function credentialSchemas(group: string): Schemas {
  return {
    Credential: ofKind(
      group,
      'Credential',
      object(
        'Credential is one login of a managed application: who got its password and when, never the password. ' +
          'Its name is <release>.<account>, such as postgres-orders.web. It is read only: a password is replaced by a ' +
          'POST of a CredentialRequest to its mint or revoke subresource.',
        {
          ...typeMeta(group, 'Credential'),
          metadata: described(group, 'ObjectMeta', 'Name, namespace and identity of the credential.'),
          spec: described(group, 'CredentialSpec', 'What the credential is a login of.'),
          status: described(group, 'CredentialStatus', 'What became of its password.'),
        },
      ),
    ),
    CredentialList: ofKind(
      group,
      'CredentialList',
      object(
        'CredentialList is the credentials of one namespace, or one page of them.',
        {
          ...typeMeta(group, 'CredentialList'),
          metadata: described(group, 'ListMeta', 'The version of the list, and where it goes on.'),
          items: {
            type: 'array',
            description: 'The credentials.',
            items: schemaRef(group, 'Credential'),
          },
        },
        ['metadata', 'items'],
      ),
    ),
    ...specSchemas(group),
    ...historySchemas(group),
  }
}

function specSchemas(group: string): Schemas {
  return {
    CredentialSpec: object(
      'CredentialSpec says whose login this is.',
      {
        application: described(group, 'ApplicationReference', 'The managed application.'),
        user: text('The name that the application knows the user by.'),
      },
      ['application', 'user'],
    ),
    ApplicationReference: object(
      'ApplicationReference names a managed application in the namespace of the credential.',
      {
        apiGroup: text('The API group of the application, such as apps.cozystack.io.'),
        kind: text('The kind of the application, such as Postgres.'),
        name: text('The name of the application.'),
      },
      ['apiGroup', 'kind', 'name'],
    ),
  }
}

function historySchemas(group: string): Schemas {
  return {
    CredentialStatus: object(
      'CredentialStatus says what is known of the password, and what was done to it.',
      {
        password: described(
          group,
          'PasswordStatus',
          'Where the password that works now comes from. Never the password.',
        ),
        history: {
          type: 'array',
          description: 'What was done to the password: the newest ten operations, newest first.',
          items: schemaRef(group, 'HistoryEntry'),
        },
      },
      ['password', 'history'],
    ),
    PasswordStatus: object(
      'PasswordStatus says where a password comes from. It is never shown here.',
      {
        origin: text(ORIGIN, { enum: ['NotIssued', 'Migrated', 'Minted', 'Revoked'] }),
        at: time('When it last changed, in UTC. Absent when that is not on record.'),
        by: text('Who changed it last. Absent when that is not on record.'),
      },
      ['origin'],
    ),
    HistoryEntry: object(
      'HistoryEntry is one operation on the password.',
      {
        operation: text('What was done.', { enum: ['Create', 'Migrate', 'Mint', 'Revoke'] }),
        at: time('When, in UTC.'),
        by: text('Who asked for it.'),
        impersonator: text('Who really asked, when it was somebody who acted as another user.'),
      },
      ['operation', 'at', 'by'],
    ),
  }
}

function requestSchemas(group: string): Schemas {
  return {
    CredentialRequest: ofKind(
      group,
      'CredentialRequest',
      object(
        'CredentialRequest asks for a new password (mint) or for none that anybody knows (revoke), and is the answer to ' +
          'that. THE ANSWER TO A MINT CONTAINS THE PASSWORD in clear text, in status.password: it is shown this once, ' +
          'cannot be read again here, and belongs in no log. No object of this kind is stored.',
        {
          ...typeMeta(group, 'CredentialRequest'),
          metadata: described(
            group,
            'RequestMeta',
            'Name and namespace of the credential. In a request they may be left out; other ones are refused.',
          ),
          spec: described(group, 'CredentialRequestSpec', 'What is asked for. Not in the answer.'),
          status: described(group, 'CredentialRequestStatus', 'The answer. Ignored in a request.', {
            readOnly: true,
          }),
        },
      ),
    ),
    ...preconditionSchemas(group),
    CredentialRequestStatus: object(
      'CredentialRequestStatus is the outcome. It means that the new password is stored: the old one works until the ' +
        'application has applied it.',
      {
        username: text('The name that the application knows the user by.'),
        password: text(
          'The new password in clear text, shown this once. Absent after a revoke and in a dry run.',
          { format: 'password' },
        ),
        issuedAt: time('When the password was replaced, in UTC.'),
      },
      ['username', 'issuedAt'],
    ),
    RequestMeta: object('RequestMeta names the credential that a request is about.', {
      name: text('The name of the credential: <release>.<account>.'),
      namespace: text('The namespace of the credential.'),
      creationTimestamp: time('Not read: typed clients send it.'),
    }),
  }
}

function preconditionSchemas(group: string): Schemas {
  return {
    CredentialRequestSpec: object('CredentialRequestSpec says when the password may be replaced.', {
      preconditions: described(
        group,
        'Preconditions',
        'What must still be so. When it is not, the answer is 409 Conflict and the password stays.',
      ),
    }),
    Preconditions: object('Preconditions must hold when the password is replaced. Both may be given.', {
      resourceVersion: text(
        'The metadata.resourceVersion of the credential as it was read. Neither "" nor "0", which would match anything.',
      ),
      uid: text('The metadata.uid of the credential as it was read. Not "", which would match anything.'),
    }),
  }
}
