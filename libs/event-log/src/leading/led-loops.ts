/** The loops that one process leads for all, by the names of their leads. */
export const ledLoops = ['relay', 'projection', 'agenda', 'jobs', 'prune', 'views'] as const;
export type LedLoop = (typeof ledLoops)[number];
