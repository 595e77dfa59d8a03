import type { Format } from './format.ts'

/** For engines that take nothing else (Redis behind its operator): the platform can read the password. */
export const plaintext: Format = {
  name: 'plaintext',
  storesPlaintext: true,
  // Control characters would end a line of the engine's configuration; a lone surrogate has no UTF-8.
  canonical: /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,1024}$/u,
  derive: async ({ password }) => password,
}
