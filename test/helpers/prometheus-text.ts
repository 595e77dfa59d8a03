/**
 * Prometheus' text format 0.0.4, by its documentation: https://prometheus.io/docs/instrumenting/exposition_formats.
 * Stricter than Prometheus itself: every family must have its TYPE and HELP.
 */

const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
/** What Go's ParseFloat takes, of which only this much is written: it takes `nan` in any case. */
const NUMBER = /^(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]Inf|nan)$/i
const TYPES: ReadonlySet<string> = new Set(['counter', 'gauge', 'histogram', 'summary', 'untyped'])

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly name: string
  readonly type: string
  readonly help: string
  readonly samples: readonly Sample[]
}

/** Families in their order. Throws an Error that shows the line, or names the family, that breaks a rule. */
export function parseMetrics(text: string): readonly Family[] {
  if (!text.endsWith('\n')) throw new Error('the last line must end with a line feed')
  const families = text.split(/^(?=# HELP )/m).map(familyOf)
  const names = families.map(({ name }) => name)
  if (new Set(names).size !== names.length) throw new Error(`a family comes twice: ${names}`)
  return families
}

/** From its HELP to the next one. */
function familyOf(block: string): Family {
  const [first = '', second = '', ...lines] = block.split('\n').filter((line) => line !== '')
  const [, name = '', help = ''] = /^# HELP (\S+) (.+)$/.exec(first) ?? []
  const [, typed, type = ''] = /^# TYPE (\S+) (\S+)$/.exec(second) ?? []
  if (name === '' || typed !== name || !TYPES.has(type)) throw new Error(`no family: ${first} ${second}`)
  const samples = lines.map((line) => sampleOf(line, { name, type }))
  const each = samples.map((sample) => `${sample.name} ${keyOf(sample.labels)}`)
  if (new Set(each).size !== each.length) throw new Error(`${name} has a sample twice`)
  if (type === 'histogram') checkHistogram(name, samples)
  return { name, type, help, samples }
}

const keyOf = (labels: Sample['labels']): string => JSON.stringify(Object.entries(labels).toSorted())

function sampleOf(line: string, { name: family, type }: Pick<Family, 'name' | 'type'>): Sample {
  const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? []
  const names = type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => family + end) : [family]
  if (!names.includes(name) || !NUMBER.test(value)) throw new Error(`no sample of ${family}: ${line}`)
  return { name, labels: labelsOf(labels, line), value: numberOf(value) }
}

const numberOf = (text: string): number => Number(text.replace('Inf', 'Infinity'))

function labelsOf(text: string, line: string): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {}
  for (let rest = text; rest !== ''; ) {
    const [all = '', name = '', value = ''] = LABEL.exec(rest) ?? []
    if (all === '' || name in labels) throw new Error(`labels are malformed: ${line}`)
    labels[name] = value.replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped))
    rest = rest.slice(all.length)
  }
  return labels
}

/** Buckets ascend, hold what those below them hold, and end with `+Inf`, which is the count. */
function checkHistogram(name: string, samples: readonly Sample[]): void {
  const groups = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => keyOf(labels))
  for (const group of groups.values()) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`)
    const bounds = buckets.map(({ labels }) => numberOf(labels.le ?? 'NaN'))
    const counts = buckets.map(({ value }) => value)
    const [count, ...others] = group.filter((sample) => sample.name === `${name}_count`)
    const sums = group.filter((sample) => sample.name === `${name}_sum`)
    const isRight =
      bounds.at(-1) === Number.POSITIVE_INFINITY &&
      ascends(bounds, (low, high) => low < high) &&
      ascends(counts, (low, high) => low <= high) &&
      counts.at(-1) === count?.value &&
      others.length === 0 &&
      sums.length === 1
    if (!isRight) throw new Error(`${name} is no histogram: ${JSON.stringify(group)}`)
  }
}

const ascends = (numbers: readonly number[], inOrder: (low: number, high: number) => boolean): boolean =>
  numbers.every((number, index) => index === 0 || inOrder(numbers[index - 1] ?? Number.NaN, number))
