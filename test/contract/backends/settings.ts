export const EVENTS_KEY = 'key-of-the-event-sources'
export const FLUX_KEY = 'key-of-the-notification-controller'

/**
 * Definitions are read afresh, so that a test sees its own; everything is logged, so that nothing hides; and a thousand
 * calls at once on a busy machine are slow, not wrong. Second thoughts have a second.
 */
export const SETTINGS = {
  MINTONCE_DEFINITIONS_MAX_AGE_SECONDS: '0',
  MINTONCE_LOG_LEVEL: 'debug',
  MINTONCE_KUBE_TIMEOUT_SECONDS: '20',
  MINTONCE_DEADLINE_SECONDS: '50',
  MINTONCE_GRACE_SECONDS: '1',
  MINTONCE_EVENTS_KEYS: EVENTS_KEY,
  // A token of the function's own ServiceAccount stands for one of an event source.
  MINTONCE_EVENTS_AUDIENCE: 'mintonce',
  MINTONCE_EVENTS_SENDERS: 'system:serviceaccount:mintonce:mintonce',
  MINTONCE_FLUX_KEYS: FLUX_KEY,
  MINTONCE_TRUST_ANCHORS: 'on',
} as const
