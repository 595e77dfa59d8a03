import { expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'

const problemsOf = async (env: Readonly<Record<string, string>>): Promise<readonly string[]> => {
  const error = await readConfig(env).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof Error)) return []
  const [title, ...problems] = error.message.split('\n  ')
  expect(title).toBe('bad configuration:')
  return problems
}

test('an empty environment is a complete configuration', async () => {
  expect(await readConfig({})).toEqual({
    group: 'core.cozystack.io',
    audiences: ['mintonce'],
    issuers: [],
    clockToleranceSeconds: 30,
    listenAddress: undefined,
    port: 8080,
    deadlineMs: 20_000,
    kubeTimeoutMs: 5000,
    definitionsMaxAgeMs: 30_000,
    drainMs: 3000,
    graceMs: 600_000,
    logLevel: 'info',
    kubeUrl: 'https://kubernetes.default.svc',
    kubeCaFile: '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt',
    kubeTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
    tls: undefined,
    frontProxy: false,
    requestHeaderMaxAgeMs: 30_000,
    metricsPort: undefined,
    eventSenders: { keys: [], oidc: undefined },
    fluxKeys: [],
    admission: undefined,
    webhookHosts: ['.svc'],
  })
})

test('an empty variable is one that is not set', async () => {
  const empty = { MINTONCE_API_GROUP: '', MINTONCE_AUDIENCES: '', PORT: '', MINTONCE_LISTEN_ADDRESS: '' }
  expect(await readConfig(empty)).toEqual(await readConfig({}))
})

test('every setting is read in the unit that its name says', async () => {
  expect(
    await readConfig({
      MINTONCE_API_GROUP: 'credentials.cozystack.io',
      MINTONCE_AUDIENCES: 'mintonce, https://kubernetes.default.svc ,',
      MINTONCE_CLOCK_TOLERANCE_SECONDS: '0',
      MINTONCE_LISTEN_ADDRESS: '127.0.0.1',
      PORT: '0',
      MINTONCE_DEADLINE_SECONDS: '50',
      MINTONCE_KUBE_TIMEOUT_SECONDS: '7',
      MINTONCE_DEFINITIONS_MAX_AGE_SECONDS: '0',
      MINTONCE_DRAIN_SECONDS: '60',
      MINTONCE_GRACE_SECONDS: '60',
      MINTONCE_LOG_LEVEL: 'debug',
      MINTONCE_KUBE_URL: 'http://127.0.0.1:6443',
      MINTONCE_KUBE_CA_FILE: '/ca',
      MINTONCE_KUBE_TOKEN_FILE: '/token',
      MINTONCE_TLS_CERT_FILE: '/tls.crt',
      MINTONCE_TLS_KEY_FILE: '/tls.key',
      MINTONCE_FRONT_PROXY: 'on',
      MINTONCE_REQUEST_HEADER_MAX_AGE_SECONDS: '60',
      MINTONCE_METRICS_PORT: '9464',
      MINTONCE_EVENTS_KEYS: ' first-key-of-sources\n second-key-of-sources\n',
      MINTONCE_EVENTS_AUDIENCE: 'mintonce-events',
      MINTONCE_EVENTS_SENDERS: 'system:serviceaccount:a:one, two,',
      MINTONCE_FLUX_KEYS: 'key-of-the-alerts+/~_.=',
      MINTONCE_ADMISSION_PORT: '9443',
      MINTONCE_ADMISSION_CLIENT_CA_FILE: '/client-ca.crt',
      MINTONCE_WEBHOOK_HOSTS: '.svc, Hooks.Example.org,[::1],',
    }),
  ).toEqual({
    group: 'credentials.cozystack.io',
    audiences: ['mintonce', 'https://kubernetes.default.svc'],
    issuers: [],
    clockToleranceSeconds: 0,
    listenAddress: '127.0.0.1',
    port: 0,
    deadlineMs: 50_000,
    kubeTimeoutMs: 7000,
    definitionsMaxAgeMs: 0,
    drainMs: 60_000,
    graceMs: 60_000,
    logLevel: 'debug',
    kubeUrl: 'http://127.0.0.1:6443',
    kubeCaFile: '/ca',
    kubeTokenFile: '/token',
    tls: { certFile: '/tls.crt', keyFile: '/tls.key' },
    frontProxy: true,
    requestHeaderMaxAgeMs: 60_000,
    metricsPort: 9464,
    eventSenders: {
      keys: ['first-key-of-sources', 'second-key-of-sources'],
      oidc: { audience: 'mintonce-events', usernames: ['system:serviceaccount:a:one', 'two'] },
    },
    fluxKeys: ['key-of-the-alerts+/~_.='],
    admission: { port: 9443, clientCaFile: '/client-ca.crt' },
    webhookHosts: ['.svc', 'hooks.example.org', '[::1]'],
  })
})

test.each<[variable: string, value: string]>([
  ['MINTONCE_API_GROUP', 'Core.cozystack.io'],
  ['MINTONCE_API_GROUP', 'core'],
  ['MINTONCE_API_GROUP', 'core.cozystack.io/v1alpha1'],
  ['MINTONCE_API_GROUP', '-core.cozystack.io'],
  ['MINTONCE_AUDIENCES', ' , '],
  ['MINTONCE_WEBHOOK_HOSTS', ' , '],
  ['MINTONCE_WEBHOOK_HOSTS', '.'],
  ['MINTONCE_WEBHOOK_HOSTS', '*.example.org'],
  ['MINTONCE_WEBHOOK_HOSTS', 'https://hooks.example.org'],
  ['MINTONCE_CLOCK_TOLERANCE_SECONDS', '121'],
  ['MINTONCE_CLOCK_TOLERANCE_SECONDS', '-1'],
  ['MINTONCE_CLOCK_TOLERANCE_SECONDS', '1.5'],
  ['PORT', '65536'],
  ['PORT', '80a'],
  ['PORT', 'tcp://10.0.0.1:8080'],
  ['MINTONCE_DEADLINE_SECONDS', '0'],
  ['MINTONCE_DEADLINE_SECONDS', '51'],
  ['MINTONCE_DEADLINE_SECONDS', '20s'],
  ['MINTONCE_KUBE_TIMEOUT_SECONDS', '0'],
  ['MINTONCE_KUBE_TIMEOUT_SECONDS', '1e1'],
  ['MINTONCE_DEFINITIONS_MAX_AGE_SECONDS', '31'],
  ['MINTONCE_DRAIN_SECONDS', '61'],
  ['MINTONCE_GRACE_SECONDS', '0'],
  ['MINTONCE_GRACE_SECONDS', '86401'],
  ['MINTONCE_LOG_LEVEL', 'verbose'],
  ['MINTONCE_LOG_LEVEL', 'INFO'],
  ['MINTONCE_KUBE_URL', 'kubernetes.default.svc'],
  ['MINTONCE_KUBE_URL', 'https://kubernetes.default.svc/'],
  ['MINTONCE_KUBE_URL', 'https://admin:secret@kubernetes.default.svc'],
  ['MINTONCE_KUBE_URL', 'ftp://kubernetes.default.svc'],
  ['MINTONCE_FRONT_PROXY', 'on'],
  ['MINTONCE_FRONT_PROXY', 'true'],
  ['MINTONCE_REQUEST_HEADER_MAX_AGE_SECONDS', '0'],
  ['MINTONCE_REQUEST_HEADER_MAX_AGE_SECONDS', '301'],
  ['MINTONCE_METRICS_PORT', '65536'],
  ['MINTONCE_EVENTS_KEYS', 'fifteen-letters'],
  ['MINTONCE_EVENTS_KEYS', 'one-key-of-sources another-key-of-it third-key-of-all'],
  ['MINTONCE_EVENTS_KEYS', 'a-key-with-a-comma,in-it'],
  ['MINTONCE_FLUX_KEYS', 'short'],
  ['MINTONCE_FLUX_KEYS', 'a-key-with-\u00fcmlauts'],
  ['MINTONCE_ADMISSION_PORT', '9443'],
  ['MINTONCE_ADMISSION_PORT', '65536'],
  ['MINTONCE_ADMISSION_CLIENT_CA_FILE', '/ca.crt'],
  ['MINTONCE_KEY_SET_URLS', 'https://idp.example'],
  ['MINTONCE_AUTHENTICATION_CONFIG', 'jwt: []'],
  ['MINTONCE_AUTHENTICATION_CONFIG', '{"kind":"AuthenticationConfiguration"}'],
])('%s=%s is refused by its name', async (variable, value) => {
  const problems = await problemsOf({ [variable]: value })
  expect(problems.length).toBeGreaterThan(0)
  for (const problem of problems) expect(problem).toMatch(new RegExp(`^${variable}: `))
})

test('a certificate needs its key, and a key its certificate', async () => {
  expect(await problemsOf({ MINTONCE_TLS_CERT_FILE: '/tls.crt' })).toEqual([
    'MINTONCE_TLS_KEY_FILE: must be set beside MINTONCE_TLS_CERT_FILE',
  ])
  expect(await problemsOf({ MINTONCE_TLS_KEY_FILE: '/tls.key' })).toEqual([
    'MINTONCE_TLS_CERT_FILE: must be set beside MINTONCE_TLS_KEY_FILE',
  ])
})

test('an audience of events needs its senders, and senders their audience', async () => {
  expect(await problemsOf({ MINTONCE_EVENTS_AUDIENCE: 'mintonce-events' })).toEqual([
    'MINTONCE_EVENTS_SENDERS: must name at least one user beside MINTONCE_EVENTS_AUDIENCE',
  ])
  expect(await problemsOf({ MINTONCE_EVENTS_SENDERS: 'system:serviceaccount:a:one' })).toEqual([
    'MINTONCE_EVENTS_AUDIENCE: must be set beside MINTONCE_EVENTS_SENDERS',
  ])
})

test('a key that is refused is not shown', async () => {
  for (const variable of ['MINTONCE_EVENTS_KEYS', 'MINTONCE_FLUX_KEYS']) {
    expect((await problemsOf({ [variable]: 'tooShort' })).join()).not.toContain('tooShort')
  }
})

test('every mistake is named at once', async () => {
  const problems = await problemsOf({
    MINTONCE_API_GROUP: 'core',
    MINTONCE_AUDIENCES: ',',
    MINTONCE_LOG_LEVEL: 'loud',
    PORT: 'eighty',
    MINTONCE_KUBE_URL: 'x',
    MINTONCE_DRAIN: '3',
    MINTONCE_AUTHENTICATION_CONFIG: '{}',
    MINTONCE_AUTHENTICATION_CONFIG_FILE: '/authentication.yaml',
  })
  const named = new Set(problems.map((problem) => problem.split(':')[0]))
  expect(named).toEqual(
    new Set([
      'MINTONCE_API_GROUP',
      'MINTONCE_AUDIENCES',
      'MINTONCE_LOG_LEVEL',
      'PORT',
      'MINTONCE_KUBE_URL',
      'MINTONCE_DRAIN',
      'MINTONCE_AUTHENTICATION_CONFIG',
    ]),
  )
})

test('a deadline that leaves no time for a write and the read after it is refused', async () => {
  const tight = { MINTONCE_DEADLINE_SECONDS: '10', MINTONCE_KUBE_TIMEOUT_SECONDS: '5' }
  expect(await problemsOf(tight)).toEqual([
    'MINTONCE_DEADLINE_SECONDS: must be more than twice MINTONCE_KUBE_TIMEOUT_SECONDS',
  ])
  expect(await problemsOf({ ...tight, MINTONCE_DEADLINE_SECONDS: '11' })).toEqual([])
})

test('a misspelt variable is refused: its default would be in force in silence', async () => {
  expect(await problemsOf({ MINTONCE_AUDIENCE: 'x' })).toEqual([
    'MINTONCE_AUDIENCE: there is no such setting',
  ])
  expect(await problemsOf({ mintonce_audience: 'x', OTHER: 'y' })).toEqual([])
})

test('the service links of a pod are no settings', async () => {
  const links = {
    MINTONCE_SERVICE_HOST: '10.0.0.7',
    MINTONCE_SERVICE_PORT: '80',
    MINTONCE_SERVICE_PORT_HTTP: '80',
    MINTONCE_PORT: 'tcp://10.0.0.7:80',
    MINTONCE_PORT_80_TCP_ADDR: '10.0.0.7',
  }
  expect(await problemsOf(links)).toEqual([])
})

test.each([
  ['fd00:1::1', '443', 'https://[fd00:1::1]:443'],
  ['10.96.0.1', '6443', 'https://10.96.0.1:6443'],
  ['kubernetes.default.svc', undefined, 'https://kubernetes.default.svc:443'],
])('CLI-06: the API server at %s port %s is %s', async (host, port, url) => {
  const { kubeUrl } = await readConfig({
    KUBERNETES_SERVICE_HOST: host,
    ...(port === undefined ? {} : { KUBERNETES_SERVICE_PORT: port }),
  })
  expect(kubeUrl).toBe(url)
  expect(new URL(kubeUrl).origin).toBe(new URL(url).origin)
})

test('an address that is set wins over the one that the kubelet tells', async () => {
  const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', MINTONCE_KUBE_URL: 'https://api.example:6443' }
  expect((await readConfig(env)).kubeUrl).toBe('https://api.example:6443')
})

const issuer = {
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  jwt: [
    {
      issuer: { url: 'https://idp.example', audiences: ['mintonce'] },
      claimMappings: { username: { claim: 'sub', prefix: '' } },
    },
  ],
}

test('issuers come from a file, as JSON or, where there is a parser, as YAML', async () => {
  const file = { MINTONCE_AUTHENTICATION_CONFIG_FILE: '/authentication.yaml' }
  const asked: string[] = []
  const read = (text: string) => async (path: string) => {
    asked.push(path)
    return text
  }
  const fromJson = await readConfig(file, { readText: read(JSON.stringify(issuer)) })
  const fromYaml = await readConfig(file, { readText: read('jwt: …'), parseYaml: async () => issuer })
  expect(fromJson.issuers).toHaveLength(1)
  expect(fromYaml.issuers).toEqual(fromJson.issuers)
  expect(asked).toEqual(['/authentication.yaml', '/authentication.yaml'])
})

test('a file that cannot be read is named with the reason', async () => {
  const file = { MINTONCE_AUTHENTICATION_CONFIG_FILE: '/missing' }
  const missing = () => Promise.reject(new Error('ENOENT: no such file, /missing'))
  await expect(readConfig(file, { readText: missing })).rejects.toThrow(
    'MINTONCE_AUTHENTICATION_CONFIG_FILE: ENOENT: no such file, /missing',
  )
  await expect(readConfig(file)).rejects.toThrow('this runtime has no files')
})

test("the cluster's own issuer is refused: its tokens are for a review, which knows what was revoked", async () => {
  const env = { MINTONCE_AUTHENTICATION_CONFIG: JSON.stringify(issuer) }
  await expect(readConfig(env, { serviceAccountIssuers: ['https://idp.example'] })).rejects.toThrow(
    /MINTONCE_AUTHENTICATION_CONFIG: /,
  )
})
