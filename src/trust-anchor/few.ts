/** How many of a list a sentence names: an Event's note has 1024 bytes, and others decide how many there are. */
const NAMED = 5

/** `a, b`, and of a long list how many more there are. */
export const few = (items: readonly string[]): string =>
  `${items.slice(0, NAMED).join(', ')}${items.length > NAMED ? ` and ${items.length - NAMED} more` : ''}`
