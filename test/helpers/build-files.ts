/** What a clone needs beside `src`, `dev` and `node_modules` for `npm run build`, by their names in the root. */
export const BUILD_FILES = ['package.json', 'tsconfig.json', 'tsconfig.client.json'] as const
