/**
 * Whether a header can hold it after "Bearer ", and whoever reads it takes all of it: visible ASCII, no space. (RFC 6750,
 * section 2.1, allows less.) Whatever makes a header of something else quotes it in its error, so ask before.
 */
export const isBearerToken = (text: string): boolean => /^[\x21-\x7e]+$/.test(text)
