/** An object while its keys are read, or an array (no keys). */
interface Frame {
  readonly keys: Set<string> | undefined
  key: string
  index: number
  wantsKey: boolean
}

/** More help nobody, and each path costs as much as it is deep. */
const MAX_DUPLICATES = 10

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/gs

/**
 * The fields that a JSON text gives twice, by their paths (`spec.preconditions.uid`): `JSON.parse` keeps the last one
 * in silence. The first ten of them. The text must have passed `JSON.parse`. Linear in its length.
 */
export function duplicateFields(text: string): readonly string[] {
  const duplicates: string[] = []
  const stack: Frame[] = []
  for (const [token] of text.matchAll(TOKEN)) {
    if (duplicates.length === MAX_DUPLICATES) break
    if (token.startsWith('"')) readText(token, stack, duplicates)
    else readMark(token, stack)
  }
  return duplicates
}

function readMark(mark: string, stack: Frame[]): void {
  if (mark === '{') stack.push({ keys: new Set(), key: '', index: 0, wantsKey: true })
  else if (mark === '[') stack.push({ keys: undefined, key: '', index: 0, wantsKey: false })
  else if (mark === '}' || mark === ']') stack.pop()
  else readSeparator(mark, stack.at(-1))
}

function readSeparator(mark: string, top: Frame | undefined): void {
  if (top === undefined) return
  if (mark === ',') top.index += 1
  top.wantsKey = mark === ',' && top.keys !== undefined
}

function readText(token: string, stack: readonly Frame[], duplicates: string[]): void {
  const top = stack.at(-1)
  if (top?.keys === undefined || !top.wantsKey) return
  top.key = String(JSON.parse(token))
  if (top.keys.has(top.key)) duplicates.push(pathOf(stack))
  top.keys.add(top.key)
}

const pathOf = (frames: readonly Frame[]): string =>
  frames.reduce((path, { keys, key, index }) => {
    if (keys === undefined) return `${path}[${index}]`
    return path === '' ? key : `${path}.${key}`
  }, '')
