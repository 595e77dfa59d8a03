/** Definitions are read afresh, so that a test sees its own; everything is logged, so that nothing hides. */
export const SETTINGS = {
  MINTONCE_DEFINITIONS_MAX_AGE_SECONDS: '0',
  MINTONCE_LOG_LEVEL: 'debug',
} as const
