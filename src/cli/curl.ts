/** A request as a person would type it for a POSIX shell; read from the request, so that it is what is sent. */
export async function curlOf(request: Request): Promise<string> {
  const body = await request.clone().text()
  const lines = [
    request.method === 'GET' || (request.method === 'POST' && body !== '')
      ? 'curl'
      : `curl -X ${request.method}`,
    ...[...request.headers].map(([name, value]) => `-H ${quoted(`${capitalised(name)}: ${value}`)}`),
    ...(body === '' ? [] : [`-d ${quoted(body)}`]),
    isPlain(request.url) ? request.url : quoted(request.url),
  ]
  const [first = '', second = '', ...rest] = lines
  return [`${first} ${second}`, ...rest].join(' \\\n  ')
}

/** Single quotes keep everything but a single quote (POSIX, Shell Command Language, 2.2.2). */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const isPlain = (text: string): boolean => /^[\w.:/-]+$/.test(text)

const capitalised = (name: string): string => name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
