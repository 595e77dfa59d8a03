/** What the tests were shown, for the suite on secrecy, which looks for it everywhere else. */
export const shown = {
  /** Every password, by what is stored for it. */
  verified: new Set<string>(),
  plaintext: new Set<string>(),
  /** Every answer that had no password to show. */
  answers: [] as string[],
}

/** Notes the password of an answer; an answer without one is kept whole. */
export function note(credential: string, { status, text }: { status: number; text: string }): void {
  const password = status === 201 ? /"password":"([A-Za-z0-9]{32})"/.exec(text)?.[1] : undefined
  if (password === undefined) {
    shown.answers.push(text)
    return
  }
  const isPlaintext = credential.startsWith('redis-')
  ;(isPlaintext ? shown.plaintext : shown.verified).add(password)
}

/** A password may hide in base64 with any of three alignments. */
const disguises = (password: string): readonly string[] =>
  ['', 'x', 'xx'].map((shift) => {
    const text = Buffer.from(`${shift}${password}`).toString('base64')
    return text.slice(shift.length === 0 ? 0 : 4, shift.length === 0 ? 42 : -4)
  })

/** Those of the passwords that stand in the text, plainly or in base64. */
export const leaks = (haystack: string, passwords: Iterable<string>): readonly string[] =>
  [...passwords].filter((password) =>
    [password, ...disguises(password)].some((form) => haystack.includes(form)),
  )
