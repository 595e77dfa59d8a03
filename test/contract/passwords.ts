/** Every password that a test was shown, by what is stored for it: the suite on secrecy looks for them everywhere. */
export const shown = {
  verified: new Set<string>(),
  plaintext: new Set<string>(),
}

/** Notes the password of an answer, if there is one. */
export function note(credential: string, text: string): void {
  const password = /"password":"([A-Za-z0-9]{32})"/.exec(text)?.[1]
  if (password === undefined) return
  const isPlaintext = credential.startsWith('redis-')
  ;(isPlaintext ? shown.plaintext : shown.verified).add(password)
}
