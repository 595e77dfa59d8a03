/** Worth a look, and no reason to leave anything out. Names only, never a value. */
export type Note =
  | { readonly is: 'EndsInNewline'; readonly username: string }
  /** What `kubectl apply` has left in an annotation of the Secret from before: passwords in the clear. */
  | { readonly is: 'LastApplied'; readonly secret: string }
  /** The same in an annotation of the HelmRelease. */
  | { readonly is: 'ReleaseLastApplied'; readonly release: string }
  /** Keys of the Secret from before that are of no account: nobody here knows who needs them. */
  | { readonly is: 'KeysKept'; readonly secret: string; readonly keys: readonly string[] }
  /** Users whose passwords in the values are of no account that was converted. */
  | { readonly is: 'ValuesKept'; readonly release: string; readonly usernames: readonly string[] }
  /** What comes of a rotation, by the words of its rotator. */
  | { readonly is: 'Restarts'; readonly username: string; readonly what: string }

/** Names beyond are counted. */
const NAMED = 20

/** By name. */
export const listed = (names: readonly string[]): string => {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : ''
  return `${names
    .slice(0, NAMED)
    .map((name) => JSON.stringify(name))
    .join(', ')}${more}`
}

/** In words. */
export function wordsOfNote(note: Note): string {
  switch (note.is) {
    case 'EndsInNewline':
      return `the password of user ${JSON.stringify(note.username)} ends in a line break, which is a part of it: whoever made the Secret may not have meant it`
    case 'LastApplied':
      return `Secret ${JSON.stringify(note.secret)} has passwords in the clear in an annotation that kubectl apply has left: nothing is copied from there, and it stays`
    case 'ReleaseLastApplied':
      return `HelmRelease ${JSON.stringify(note.release)} has passwords in the clear in an annotation that kubectl apply has left: it stays, take it off by hand`
    case 'KeysKept':
      return `Secret ${JSON.stringify(note.secret)} has keys that are of no account that its definition names, and they stay: ${listed(note.keys)}: see whose they are`
    case 'ValuesKept':
      return `the values of release ${JSON.stringify(note.release)} have passwords in the clear of users that were not converted, and they stay: ${listed(note.usernames)}`
    case 'Restarts':
      return `user ${JSON.stringify(note.username)} has a new password: ${note.what}`
  }
}
