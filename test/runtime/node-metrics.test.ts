import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type MetricsServing, openMetrics } from '../../src/node-metrics.ts'
import { parseMetrics } from '../helpers/prometheus-text.ts'
import { connectTo, hear } from '../helpers/raw-http.ts'

async function open(port = 0): Promise<MetricsServing> {
  const serving = await openMetrics({ port, address: '127.0.0.1', version: '1.2.3', log: () => undefined })
  onTestFinished(serving.stop)
  return serving
}

const families = async ({ port }: MetricsServing) =>
  parseMetrics(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text())

describe('the kind', () => {
  const kindsIn = async (serving: MetricsServing) => {
    const family = (await families(serving)).find(({ name }) => name === 'mintonce_requests_total')
    return family?.samples.map(({ labels, value }) => [labels.kind, value] as const) ?? []
  }
  const count = (serving: MetricsServing, kind: string) =>
    serving.metrics.request({ verb: 'get', code: 200, kind }, 0.1)

  test('is shown for the first hundred of them, from then on "other" for what is new', async () => {
    const serving = await open()
    for (let index = 1; index <= 130; index += 1) count(serving, `Kind${index}`)
    for (const kind of ['Kind1', 'Kind100', '']) count(serving, kind)
    const kinds = new Map(await kindsIn(serving))
    expect(kinds.size).toBe(102)
    expect([kinds.get('Kind1'), kinds.get('Kind100'), kinds.get('')]).toEqual([2, 2, 1])
    expect([kinds.get('Kind101'), kinds.get('other')]).toEqual([undefined, 30])
  })

  // apiextensions-apiserver, `ValidateCustomResourceDefinitionNames`: a DNS-1035 label once it is in lower case.
  test.each(['Post gres', 'a"b\n', 'x'.repeat(64), 'postgres-', 'jane@example.org', '1st'])(
    'is "other" when no CRD can be called so: %j',
    async (kind) => {
      const serving = await open()
      count(serving, kind)
      expect(await kindsIn(serving)).toEqual([['other', 1]])
    },
  )
})

describe('a duration', () => {
  test('falls into every bucket that is as long, and none is longer than a request may last', async () => {
    const serving = await open()
    for (const seconds of [0.005, 0.03, 49, 51]) {
      serving.metrics.kubeCall({ call: 'get Secret', outcome: 'ok' }, seconds)
    }
    const family = (await families(serving)).find(
      ({ name }) => name === 'mintonce_kube_call_duration_seconds',
    )
    const buckets = new Map(family?.samples.map(({ labels, value }) => [labels.le, value]))
    expect(['0.005', '0.025', '0.05', '20', '50', '+Inf'].map((bound) => buckets.get(bound))).toEqual([
      1, 1, 2, 2, 3, 4,
    ])
    expect(family?.samples.find(({ name }) => name.endsWith('_sum'))?.value).toBeCloseTo(100.035)
  })
})

describe('the listener', () => {
  test('rejects where a port is taken', async () => {
    const { port } = await open()
    await expect(open(port)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })

  test('stops while somebody is connected', async () => {
    const serving = await open()
    const socket = await connectTo(serving.port)
    const heard = hear(socket)
    await serving.stop()
    expect(await heard).toEqual({ is: 'closed' })
    await expect(connectTo(serving.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('leaves the port to others when it has stopped', async () => {
    const serving = await openMetrics({ port: 0, address: '127.0.0.1', version: '1', log: () => undefined })
    await serving.stop()
    const other = createServer()
    await new Promise<void>((resolve, reject) => {
      other.once('error', reject).listen(serving.port, '127.0.0.1', resolve)
    })
    other.close()
  })
})

describe('the parser of these tests refuses', () => {
  const head = '# HELP a b\n# TYPE a counter\n'
  const histogram = '# HELP h b\n# TYPE h histogram\n'

  test.each([
    ['no end of line', `${head}a 1`],
    ['no TYPE', '# HELP a b\na 1\n'],
    ['an unknown TYPE', '# HELP a b\n# TYPE a tally\na 1\n'],
    ['a sample of another family', `${head}b 1\n`],
    ['a sample twice', `${head}a{x="1"} 1\na{x="1"} 2\n`],
    ['a family twice', `${head}a 1\n${head}a{x="1"} 1\n`],
    ['no number', `${head}a one\n`],
    ['a label without quotes', `${head}a{x=1} 1\n`],
    ['a label that is not escaped', `${head}a{x="1"2"} 1\n`],
    ['buckets without an end', `${histogram}h_bucket{le="1"} 1\nh_sum 1\nh_count 1\n`],
    [
      'a count that is not that of the last bucket',
      `${histogram}h_bucket{le="+Inf"} 1\nh_sum 1\nh_count 2\n`,
    ],
    [
      'buckets that do not add up',
      `${histogram}h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n`,
    ],
  ])('%s', (_, text) => {
    expect(() => parseMetrics(text)).toThrow()
  })

  test('and reads what is escaped', () => {
    expect(parseMetrics(`${head}a{x="a\\"b\\\\n\\n",y="}"} +Inf\n`)[0]?.samples).toEqual([
      { name: 'a', labels: { x: 'a"b\\n\n', y: '}' }, value: Number.POSITIVE_INFINITY },
    ])
  })
})
