/**
 * Text of somebody else on one line: control characters and those that turn the direction of writing could hide or repaint
 * what stands around them (Unicode Standard Annex #9, section 2).
 */
export const visible = (text: string): string =>
  text.replace(/[\r\n\t]+/g, ' ').replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '\ufffd')
