import type { Given, Option } from '../command-line/command.ts';

/** The filters of lists and of jobs, as the API has them. */
export const sessionFilters = {
  route: { value: 'name', names: 'route', summary: 'only sessions of this route' },
  status: {
    value: 'status',
    values: ['queued', 'running', 'waiting', 'ended'],
    summary: 'only sessions with this status',
  },
  'waiting-for': {
    value: 'what',
    values: ['person', 'approval', 'model', 'process'],
    summary: 'only sessions that wait for this',
  },
  outcome: {
    value: 'outcome',
    values: ['succeeded', 'failed', 'cancelled', 'expired'],
    summary: 'only sessions with this outcome',
  },
  since: { value: 'when', summary: 'created at this time or later: ISO 8601, or how long ago (15m, 2h, 7d)' },
  until: { value: 'when', summary: 'created before this time' },
  'ended-since': { value: 'when', summary: 'ended at this time or later' },
  agent: { value: 'name', summary: 'only sessions of this agent' },
  model: { value: 'name', summary: 'only sessions that this model answered last' },
  failure: { value: 'code', summary: 'only sessions with this failure, such as `timeout`' },
  title: { value: 'text', summary: 'only sessions with this text in their title, in upper or lower case' },
  'delivery-id': { value: 'id', summary: 'only the session of this delivery id of the sender' },
} as const satisfies Readonly<Record<string, Option>>;

/** The filters that the user gave, by their names in the API. */
export function filterOf(given: Given, options: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    options.flatMap((option) => {
      const value = given.text(option);
      return value === null ? [] : [[option.replaceAll('-', '_'), value]];
    }),
  );
}
