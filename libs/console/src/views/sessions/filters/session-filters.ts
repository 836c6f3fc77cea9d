/** The filters of the list, under the names of the API. They are what the address of the view holds. */
export const FILTER_NAMES = [
  'q',
  'status',
  'outcome',
  'waiting_for',
  'route',
  'agent',
  'model',
  'failure',
  'since',
  'until',
  'ended_since',
  'title',
  'delivery_id',
] as const;
export type FilterName = (typeof FILTER_NAMES)[number];

export type SessionFilters = { readonly [Name in FilterName]?: string };

export const SORTS = ['newest', 'oldest', 'active', 'longest', 'tokens'] as const;
export type Sort = (typeof SORTS)[number];

export interface ListSearch extends SessionFilters {
  readonly sort?: Sort;
}

/** Filters that have a fixed list of values. */
export const VALUES = {
  status: ['queued', 'running', 'waiting', 'ended'],
  outcome: ['succeeded', 'failed', 'cancelled', 'expired'],
  waiting_for: ['person', 'approval', 'model', 'process'],
} as const satisfies Partial<Record<FilterName, readonly string[]>>;

/** The codes of `failure.code` (docs/events.md, run.failed). A code that is not here can still be in the address. */
export const FAILURES = [
  'models_failed',
  'timeout',
  'max_steps',
  'budget',
  'agent_missing',
  'agent_unreachable',
  'agent_failed',
  'agent_lost',
  'target_missing',
  'not_allowed',
  'toolset_missing',
  'toolset_unavailable',
  'skill_unavailable',
  'internal',
  'stale',
  'attempts',
  'interrupted',
  'queue',
  'clarification_timeout',
  'process_timeout',
];

/** What an address says. Names and values that mean nothing are left out, so that an old bookmark still works. */
export function searchFromUrl(search: Readonly<Record<string, unknown>>): ListSearch {
  const result: Record<string, string> = {};
  for (const name of FILTER_NAMES) {
    const value = search[name];
    if (typeof value !== 'string' || value.trim() === '') continue;
    const allowed: readonly string[] | undefined =
      name in VALUES ? VALUES[name as keyof typeof VALUES] : undefined;
    if (allowed === undefined || allowed.includes(value)) result[name] = value;
  }
  // The API takes `q` alone among these, because it means one of them.
  if (result.q !== undefined) {
    delete result.title;
    delete result.delivery_id;
  }
  const sort = SORTS.find((one) => one === search.sort && one !== 'newest');
  return { ...result, ...(sort === undefined ? {} : { sort }) };
}

/** The filters without the order of the list: what a job works on. */
export function filtersOf({ sort: _, ...filters }: ListSearch): SessionFilters {
  return filters;
}

/** With one filter changed; an empty value takes it away. */
export function withFilter(search: ListSearch, name: FilterName | 'sort', value: string): ListSearch {
  return searchFromUrl({ ...search, [name]: value });
}

export const hasFilters = (search: ListSearch): boolean => Object.keys(filtersOf(search)).length > 0;
