/** The released version, as in package.json: that file itself would be 3 KiB in each bundle. */
export const VERSION = '0.1.0'
