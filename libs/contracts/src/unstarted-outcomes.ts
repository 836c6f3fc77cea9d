/** What happened to a webhook that started no session: a filter of the API and the command line, and a label of the counter. */
export const unstartedOutcomes = [
  'ignored',
  'duplicate',
  'handshake',
  'unauthorized',
  'rate_limited',
  'bad_request',
  'busy',
  'disabled',
  'unknown_route',
  'unavailable',
  'crowded_out',
  'error',
] as const;
export type UnstartedOutcome = (typeof unstartedOutcomes)[number];
