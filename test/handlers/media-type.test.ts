import { expect, test } from 'vitest'
import { negotiate } from '../../src/handlers/media-type.ts'

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'

test.each<[accept: string | null, why: string]>([
  [null, 'no header'],
  ['', 'an empty header'],
  [' ', 'white space'],
  ['*/*', 'curl'],
  ['application/json', 'a typed client'],
  ['application/json, */*', 'kubectl --raw'],
  ['application/*', 'any application type'],
  ['APPLICATION/JSON', 'types know no case'],
  ['application/json;charset=utf-8', 'a parameter that means nothing here'],
  ['application/vnd.kubernetes.protobuf,application/json', 'protobuf first, JSON second'],
  ['application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json', 'metadata, or JSON'],
  ['application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json', 'a Table of a version that is gone'],
  [`application/json,${TABLE}`, 'JSON before a Table'],
  [`${TABLE};q=0.4,application/json;q=0.5`, 'JSON preferred'],
  [`${TABLE};q=0,*/*;q=0.1`, 'no Table at any price'],
])('AGG-04: Accept %j is answered with the object: %s', (accept) => {
  expect(negotiate(accept)).toEqual({ ok: true, value: 'object' })
})

test.each([
  // What kubectl sends, word for word.
  `${TABLE},application/json`,
  'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json',
  TABLE,
  ' application/json ; as=Table ; v=v1 ; g=meta.k8s.io ',
  'application/json;as="Table";v="v1";g="meta.k8s.io"',
  'application/json;g=meta.k8s.io;v=v1;as=Table',
  `text/html,${TABLE}`,
  `application/json;q=0.5,${TABLE};q=0.9`,
  `application/json;q=0.999,${TABLE}`,
])('AGG-04: Accept %j is answered with a Table', (accept) => {
  expect(negotiate(accept)).toEqual({ ok: true, value: 'table' })
})

test.each([
  'text/html',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/json;as=Table',
  'application/json;as=Table;v=v1;g=example.org',
  'application/json;as=Pony;v=v1;g=meta.k8s.io',
  'application/json;q=0',
  'application/json;q=0.000',
  'json',
  ',',
  ';as=Table',
])('Accept %j cannot be served', (accept) => {
  expect(negotiate(accept)).toEqual({ ok: false, failure: { reason: 'not_acceptable' } })
})
