/** Which cluster a command is about. Both undefined: the one that kubectl would take. */
export interface ClusterOptions {
  readonly path: string | undefined
  readonly context: string | undefined
}
