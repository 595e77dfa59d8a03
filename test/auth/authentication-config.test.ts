import { rootCertificates } from 'node:tls'
import { describe, expect, test } from 'vitest'
import {
  type AuthenticationConfigOptions,
  parseAuthenticationConfig,
} from '../../src/auth/authentication-config.ts'

const CERTIFICATE = rootCertificates[0] ?? ''

const good = {
  issuer: { url: 'https://idp.example', audiences: ['mintonce'] },
  claimMappings: { username: { claim: 'sub', prefix: '' } },
}
const documentOf = (...jwt: readonly unknown[]) => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  jwt,
})
/** The good entry with one part replaced. */
const withIssuer = (issuer: object) => documentOf({ ...good, issuer: { ...good.issuer, ...issuer } })
const withMappings = (mappings: object) =>
  documentOf({ ...good, claimMappings: { ...good.claimMappings, ...mappings } })
const withRules = (rules: object) => documentOf({ ...good, ...rules })

const problemsOf = (document: unknown, options?: AuthenticationConfigOptions): readonly string[] => {
  const parsed = parseAuthenticationConfig(document, options)
  return parsed.ok ? [] : parsed.problems
}

describe('a good document', () => {
  test('gives its issuers, with every field', () => {
    const document = documentOf({
      issuer: {
        url: 'https://idp.example/realms/acme',
        discoveryURL: 'https://idp.internal/realms/acme/.well-known/openid-configuration',
        certificateAuthority: `# ours\n${CERTIFICATE}\n${rootCertificates[1]}\n`,
        audiences: ['mintonce', 'kubernetes'],
        audienceMatchPolicy: 'MatchAny',
      },
      claimMappings: {
        username: { claim: 'email', prefix: 'oidc:' },
        groups: { claim: 'roles', prefix: '' },
        uid: { claim: 'oid' },
        extra: [],
      },
      claimValidationRules: [{ claim: 'hd', requiredValue: 'acme.example' }, { claim: 'empty' }],
      userValidationRules: [],
    })
    expect(parseAuthenticationConfig(document)).toEqual({
      ok: true,
      issuers: [
        {
          url: 'https://idp.example/realms/acme',
          discoveryUrl: 'https://idp.internal/realms/acme/.well-known/openid-configuration',
          keySetUrl: undefined,
          certificateAuthority: `# ours\n${CERTIFICATE}\n${rootCertificates[1]}\n`,
          audiences: ['mintonce', 'kubernetes'],
          username: { claim: 'email', prefix: 'oidc:' },
          groups: { claim: 'roles', prefix: '' },
          uid: 'oid',
          requiredClaims: new Map([
            ['hd', 'acme.example'],
            ['empty', ''],
          ]),
        },
      ],
    })
  })

  test.each([
    ['v1beta1', { ...documentOf(good), apiVersion: 'apiserver.config.k8s.io/v1beta1' }],
    ['no issuers', documentOf()],
    ['no list of issuers', { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration' }],
    ['anonymous access switched off', { ...documentOf(good), anonymous: { enabled: false } }],
    ['nulls for what is left out', withMappings({ groups: null, uid: null, extra: null })],
    ['one audience and MatchAny', withIssuer({ audienceMatchPolicy: 'MatchAny' })],
    ['two issuers', documentOf(good, { ...good, issuer: { ...good.issuer, url: 'https://idp.example/' } })],
    [
      'the configuration directory of another cluster',
      withIssuer({ url: 'https://k8s.example/kubernetes.default.svc' }),
    ],
  ])('may have %s', (_, document) => {
    expect(problemsOf(document)).toEqual([])
  })

  test('TOK-14: takes the address of a key set from beside the document', () => {
    const keySetUrls = new Map([['https://idp.example', 'https://idp.internal/keys']])
    expect(parseAuthenticationConfig(documentOf(good), { keySetUrls })).toMatchObject({
      issuers: [{ url: 'https://idp.example', keySetUrl: 'https://idp.internal/keys' }],
    })
  })
})

describe('wrong documents', () => {
  test.each([undefined, null, 'text', 7, []])('refuses %j', (document) => {
    expect(problemsOf(document)).toEqual(['Invalid value: "<omitted>": must be an object'])
  })

  test.each([
    [{ ...documentOf(), kind: 'AuthorizationConfiguration' }, /^kind: Invalid value: "Authoriz/],
    [{ ...documentOf(), apiVersion: 'v1' }, /^apiVersion: Invalid value: "v1": must be apiserver/],
    [{ ...documentOf(), apiVersion: undefined }, /^apiVersion: Invalid value: "": /],
    [{ ...documentOf(), jwts: [] }, /^jwts: Forbidden: unknown field$/],
    [{ ...documentOf(), jwt: {} }, /^jwt: Invalid value: "<omitted>": must be a list$/],
    [{ ...documentOf(), anonymous: { enabled: true } }, /^anonymous.enabled: Invalid value: true: /],
    [
      { ...documentOf(), anonymous: { conditions: [{ path: '/livez' }] } },
      /^anonymous.conditions: Forbidden/,
    ],
    [documentOf(...Array.from({ length: 65 }, (_, index) => entryOf(index))), /^jwt: Too many: 65: /],
  ])('names what is wrong at the top: %#', (document, problem) => {
    expect(problemsOf(document)).toEqual([expect.stringMatching(problem)])
  })

  test('names every mistake of every issuer at once, by its path', () => {
    const document = documentOf(
      { issuer: { url: 'http://idp.example', audiences: [] }, claimMappings: { username: { claim: 'sub' } } },
      null,
      { ...good, claimMappings: 'sub' },
      {
        ...good,
        issuer: { ...good.issuer, url: 'https://idp.example', jwksURL: 'https://x.example' },
        more: 1,
      },
    )
    expect(problemsOf(document).map((problem) => problem.split(':')[0])).toEqual([
      'jwt[0].issuer.url',
      'jwt[0].issuer.audiences',
      'jwt[0].claimMappings.username.prefix',
      'jwt[1]',
      'jwt[1].issuer.url',
      'jwt[1].issuer.audiences',
      'jwt[1].claimMappings.username',
      'jwt[2].claimMappings',
      'jwt[2].claimMappings.username',
      'jwt[3].more',
      'jwt[3].issuer.jwksURL',
      'jwt[3].issuer.url',
    ])
  })
})

const entryOf = (index: number) => ({
  ...good,
  issuer: { ...good.issuer, url: `https://idp-${index}.example` },
})

/** Wording of `k8s.io/apiserver/pkg/apis/apiserver/validation`, where upstream has the rule. */
describe('issuer', () => {
  test.each([
    [{ url: '' }, 'url: Required value'],
    [{ url: undefined }, 'url: Required value'],
    [{ url: 7 }, 'url: Invalid value: "<omitted>": must be a string'],
    [{ url: 'idp.example' }, 'url: Invalid value: "idp.example": must be an absolute URL'],
    [{ url: ' https://idp.example' }, 'url: Invalid value: " https://idp.example": must be an absolute URL'],
    [{ url: 'http://idp.example' }, 'url: Invalid value: "http://idp.example": URL scheme must be https'],
    [{ url: 'http://127.0.0.1:1' }, 'url: Invalid value: "http://127.0.0.1:1": URL scheme must be https'],
    [
      { url: 'https://i.example?a' },
      'url: Invalid value: "https://i.example?a": URL must not contain a query',
    ],
    [
      { url: 'https://i.example#a' },
      'url: Invalid value: "https://i.example#a": URL must not contain a fragment',
    ],
    [
      { url: 'https://me:hidden@i.example' },
      'url: Invalid value: "<omitted>": URL must not contain a username or password',
    ],
    [
      { discoveryURL: 'https://idp.example/' },
      'discoveryURL: Invalid value: "https://idp.example/": discoveryURL must be different from URL',
    ],
    [
      { discoveryURL: 'http://idp.example/x' },
      'discoveryURL: Invalid value: "http://idp.example/x": URL scheme must be https',
    ],
    [{ audiences: undefined }, 'audiences: Required value: at least one jwt[0].issuer.audiences is required'],
    [{ audiences: [] }, 'audiences: Required value: at least one jwt[0].issuer.audiences is required'],
    [{ audiences: 'a' }, 'audiences: Invalid value: "<omitted>": must be a list'],
    [{ audiences: [''] }, 'audiences[0]: Required value'],
    [{ audiences: [7] }, 'audiences[0]: Invalid value: "<omitted>": must be a string'],
    [{ audiences: ['a', 'a'], audienceMatchPolicy: 'MatchAny' }, 'audiences[1]: Duplicate value: "a"'],
    [
      { audiences: ['a', 'b'] },
      'audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences',
    ],
    [
      { audienceMatchPolicy: 'MatchAll' },
      'audienceMatchPolicy: Invalid value: "MatchAll": audienceMatchPolicy must be empty or MatchAny for single audience',
    ],
    [{ egressSelectorType: 'cluster' }, 'egressSelectorType: Forbidden: unknown field'],
  ])('%j', (issuer, problem) => {
    expect(problemsOf(withIssuer(issuer))).toEqual([`jwt[0].issuer.${problem}`])
  })

  test.each([
    ['no PEM', 'certificate'],
    ['a path', '/etc/ssl/ca.crt'],
    ['a private key', `${CERTIFICATE}\n-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n`],
    ['no base64', '-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n'],
    ['no DER', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
    ['a second certificate without its end', `${CERTIFICATE}\n-----BEGIN CERTIFICATE-----\nMIIB\n`],
  ])('a certificateAuthority that is %s is named and not shown', (_, certificateAuthority) => {
    expect(problemsOf(withIssuer({ certificateAuthority }))).toEqual([
      'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": must be certificates in PEM',
    ])
  })

  test('two issuers of one url or one discoveryURL are refused', () => {
    const discoveryURL = 'https://idp.internal/discovery'
    const other = { ...good, issuer: { ...good.issuer, discoveryURL } }
    expect(problemsOf(documentOf(other, other))).toEqual([
      'jwt[1].issuer.url: Duplicate value: "https://idp.example"',
      'jwt[1].issuer.discoveryURL: Duplicate value: "https://idp.internal/discovery"',
    ])
  })

  test.each([
    'https://kubernetes.default.svc',
    'https://kubernetes.default.svc/',
    'https://kubernetes.default.svc.cluster.local',
    'https://KUBERNETES.default.svc.cozy.local:443/x',
    'https://kubernetes.default',
    'https://oidc.cloud.example/id/42',
    'https://oidc.cloud.example/id/42/',
  ])("%s, the cluster's own issuer, is refused", (url) => {
    const options = { serviceAccountIssuers: ['https://oidc.cloud.example/id/42'] }
    expect(problemsOf(withIssuer({ url }), options)).toEqual([
      expect.stringMatching(/^jwt\[0\]\.issuer\.url: .*URL must not be the cluster's ServiceAccount issuer/),
    ])
  })

  test('loopback may be http where that is allowed, and only loopback', () => {
    const options = { allowLoopbackHttp: true }
    for (const url of ['http://127.0.0.1:8080', 'http://localhost:1/a', 'http://[::1]:1']) {
      expect(problemsOf(withIssuer({ url }), options)).toEqual([])
    }
    for (const url of ['http://idp.example', 'http://127.0.0.1.idp.example', 'http://localhost.example']) {
      expect(problemsOf(withIssuer({ url }), options)).toHaveLength(1)
    }
  })

  test('the address of a key set must be https, and of an issuer that is configured', () => {
    const keySetUrls = new Map([
      ['https://idp.example', 'http://idp.example/keys'],
      ['https://idp.example/', 'https://idp.example/keys'],
    ])
    expect(problemsOf(documentOf(good), { keySetUrls })).toEqual([
      'address of the key set of "https://idp.example": URL scheme must be https',
      'address of a key set: "https://idp.example/" is not the issuer.url of any entry of jwt',
    ])
  })

  test('the address of a key set has no credentials: they would be sent', () => {
    const keySetUrls = new Map([['https://idp.example', 'https://a:secret@idp.example/keys']])
    expect(problemsOf(documentOf(good), { keySetUrls })).toEqual([
      'address of the key set of "https://idp.example": URL must not contain a username or password',
    ])
  })
})

describe('claimMappings', () => {
  test.each([
    [{ username: undefined }, 'username: Required value: claim is required'],
    [{ username: {} }, 'username: Required value: claim is required'],
    [{ username: { claim: 7, prefix: '' } }, 'username.claim: Invalid value: "<omitted>": must be a string'],
    [
      { username: { expression: 'claims.sub' } },
      'username.expression: Forbidden: CEL expressions are not supported',
    ],
    [{ groups: { expression: 'x' } }, 'groups.expression: Forbidden: CEL expressions are not supported'],
    [{ uid: { expression: 'x' } }, 'uid.expression: Forbidden: CEL expressions are not supported'],
    [
      { extra: [{ key: 'a/b', valueExpression: 'x' }] },
      'extra: Forbidden: CEL expressions are not supported',
    ],
    [{ groups: { prefix: 'a' } }, 'groups.prefix: Forbidden: may not be specified without claim'],
    [{ groups: { claim: 'a', prefix: 7 } }, 'groups.prefix: Invalid value: "<omitted>": must be a string'],
    [
      { groups: { claim: 'a', prefix: 'system:' } },
      'groups.prefix: Invalid value: "system:": names that begin with system: belong to Kubernetes',
    ],
    [{ uid: { claim: 'a', prefix: '' } }, 'uid.prefix: Forbidden: unknown field'],
    [{ user: {} }, 'user: Forbidden: unknown field'],
  ])('%j', (mappings, problem) => {
    expect(problemsOf(withMappings(mappings))).toEqual([`jwt[0].claimMappings.${problem}`])
  })

  test.each(['username', 'groups'])('TOK-06: a claim of %s without a prefix is refused', (mapping) => {
    expect(problemsOf(withMappings({ [mapping]: { claim: 'sub' } }))).toEqual([
      `jwt[0].claimMappings.${mapping}.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing`,
    ])
  })
})

describe('rules', () => {
  test.each([
    [{ claimValidationRules: [{}] }, 'claimValidationRules[0]: Required value: claim is required'],
    [
      { claimValidationRules: [{ expression: 'true' }] },
      'claimValidationRules[0].expression: Forbidden: CEL expressions are not supported',
    ],
    [
      { claimValidationRules: [{ claim: 'a', message: 'b' }] },
      'claimValidationRules[0].message: Invalid value: "<omitted>": may not be specified when claim is set',
    ],
    [
      { claimValidationRules: [{ claim: 'a' }, { claim: 'a' }] },
      'claimValidationRules[1].claim: Duplicate value: "a"',
    ],
    [
      { claimValidationRules: [{ claim: 'a', requiredValue: true }] },
      'claimValidationRules[0].requiredValue: Invalid value: "<omitted>": must be a string',
    ],
    [
      { claimValidationRules: [{ claim: 'a', value: 'b' }] },
      'claimValidationRules[0].value: Forbidden: unknown field',
    ],
    [
      { userValidationRules: [{ expression: 'true' }] },
      'userValidationRules: Forbidden: CEL expressions are not supported',
    ],
  ])('%j', (rules, problem) => {
    expect(problemsOf(withRules(rules))).toEqual([`jwt[0].${problem}`])
  })
})
